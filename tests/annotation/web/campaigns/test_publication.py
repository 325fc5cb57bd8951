"""A log, a campaign's HITs and its work grow long: what is rare in them is found by an index."""

import re
from collections.abc import Mapping

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.access.audit_log import by_command, record
from annotation.models import Campaign, Control
from tests.annotation.crowd.inhouse.test_plans import plan
from tests.annotation.web.base.readers import root
from tests.annotation.web.controls.test_controls import make_hits
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.django_db

# Asked for -> the table, and the index that leads to it.
LOOKS: Mapping[str, tuple[str, str]] = {
    "/admin/log/?verb=cancel": ("annotation_auditentry", "audit_entries_by_verb"),
    "/admin/log/?actor=nobody": ("annotation_auditentry", "audit_entries_by_actor"),
    "/admin/log/?via=api": ("annotation_auditentry", "audit_entries_by_way"),
    "/admin/campaigns/demo/hits/?round=repack": ("annotation_hit", "hits_by_round"),
    "/api/v1/log?verb=cancel": ("annotation_auditentry", "audit_entries_by_verb"),
    "/api/v1/log?actor=nobody": ("annotation_auditentry", "audit_entries_by_actor"),
    "/api/v1/campaigns/demo/hits?round=repack": ("annotation_hit", "hits_by_round"),
}


@pytest.fixture
def campaign() -> Campaign:
    """HITs at the crowd and repacked ones, and a log in which nobody has cancelled anything."""
    campaign = make_campaign({f"rain {n}": ["ada+ bob+"] for n in range(5)})
    campaign.hits.filter(number__gte=4).update(repack=True)
    for _ in range(20):
        record(by_command(), "collect", campaign=campaign)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return campaign


# SQLite knows no index for a bare truth value, and nothing of what is rare.
ON_POSTGRESQL = ("round=repack", "api/v1/log")


@pytest.mark.parametrize("path", LOOKS)
def test_what_is_rare_is_found_by_its_index(campaign: Campaign, path: str) -> None:
    if connection.vendor == "sqlite" and any(part in path for part in ON_POSTGRESQL):
        pytest.skip("SQLite finds it another way")
    client, (table, index) = root(), LOOKS[path]
    with CaptureQueriesContext(connection) as asked:
        assert client.get(path).status_code == 200
    begins = (f'FROM "{table}"', "LIMIT")
    found = [one["sql"] for one in asked if all(part in one["sql"] for part in begins)]
    plans = [plan(sql) for sql in found]
    assert any(index in one for one in plans), plans


def test_words_are_looked_for_in_the_questions_within_reach_alone(campaign: Campaign) -> None:
    """In one step PostgreSQL would read every pair's question, and there are millions."""
    with CaptureQueriesContext(connection) as asked:
        page = root().get("/admin/campaigns/demo/triplets/?q=zzz&within=question")
    assert page.status_code == 200
    report = [one["sql"] for one in asked if "LIKE" in one["sql"].upper() and "zzz" in one["sql"]]
    assert len(report) == 1
    assert '"retrieval_qapair"."id" IN (' in report[0]
    assert "JOIN" not in report[0]


def test_the_hits_of_a_control_are_walked_in_order_by_its_index(campaign: Campaign) -> None:
    control = campaign.hits.get(number=1).items.filter(control__campaign=campaign)[0].control
    assert control is not None
    make_hits(campaign, Control.objects.get(campaign=None), 2000)
    make_hits(campaign, control, 20)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    with CaptureQueriesContext(connection) as asked:
        page = root().get(f"/admin/campaigns/demo/controls/{control.pk}")
    assert len(page.context["hits"]) == 10
    asked_for = [one["sql"] for one in asked if '"control_id" = ' in one["sql"]]
    (report,) = [sql for sql in asked_for if "ORDER BY" in sql]
    found = plan(report)
    # SQLite keeps the rows of one control in their order in any index of it.
    index = "items_of_a_control" if connection.vendor == "postgresql" else "(control_id=?)"
    assert index in found, found
    assert not re.search("Sort|TEMP B-TREE FOR ORDER", found), found
