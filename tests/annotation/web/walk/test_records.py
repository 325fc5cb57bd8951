"""The lists of records: whatever the size of a table, none of them looks through it."""

import re

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.annotation.web.walk.test_walk import MOST_QUERIES, WRITTEN
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

THROUGH_A_TABLE = re.compile(r"COUNT\(|DISTINCT|GROUP BY|SUM\(")
# What people write by hand is little.
LONG = [model for model in admin.site._registry if model._meta.label_lower not in WRITTEN]


@pytest.fixture
def root(one_hit: Stage) -> Client:
    """Before whom a campaign was worked on."""
    for name in ("ada", "bob"):
        one_hit.work(name, 1)
    one_hit.advance()
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def asked(client: Client, address: str) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200, address
    return [query["sql"] for query in queries]


def list_of(model: type[Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def test_a_list_asks_little_and_never_for_a_whole_table(root: Client) -> None:
    for model in LONG:
        assert root.get(f"{list_of(model)}?q=x").status_code == 200, model
        for ending in ("", "?_facets=True"):
            statements = asked(root, list_of(model) + ending)
            assert len(statements) <= MOST_QUERIES, model
            assert not [one for one in statements if THROUGH_A_TABLE.search(one)], model


def test_no_list_claims_a_number_of_rows_that_nobody_counted(root: Client) -> None:
    for model in LONG:
        assert not re.search(r"\d results", root.get(list_of(model)).content.decode()), model
