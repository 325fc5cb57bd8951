import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from retrieval.build import build_index
from retrieval.querysets import sample_queries
from retrieval.search import retrieve
from tests.retrieval.conftest import AddPairs
from tests.retrieval.keywords import KeywordEncoder

pytestmark = pytest.mark.django_db

NAMES = ["qapair", "indexversion", "queryset", "query", "candidate"]


@pytest.fixture
def site(client: Client, add_pairs: AddPairs) -> Client:
    add_pairs((f"What is <b>rain</b> {n}?", "Water.") for n in range(40))
    encoder = KeywordEncoder("rain")
    build_index("unused", "QQ", encoder=encoder)
    for name in ("first", "second"):
        retrieve(sample_queries(name, 5, 1), k=10, encoder=encoder)
    client.force_login(User.objects.create_superuser("ada"))
    return client


@pytest.mark.parametrize("name", NAMES)
def test_lists_can_be_read_and_searched_with_few_database_queries(
    site: Client, name: str, django_assert_max_num_queries: object
) -> None:
    url = reverse(f"admin:retrieval_{name}_changelist")
    with django_assert_max_num_queries(10):  # type: ignore[operator]
        page = site.get(url)
    assert page.status_code == 200
    assert b"<b>rain</b>" not in page.content
    assert site.get(url, {"q": "rain"}).status_code == 200


@pytest.mark.parametrize("name", NAMES)
def test_nothing_can_be_added_changed_or_deleted(site: Client, name: str) -> None:
    page = site.get(reverse(f"admin:retrieval_{name}_changelist"))
    first = page.context["cl"].result_list[0]
    assert site.post(reverse(f"admin:retrieval_{name}_add")).status_code == 403
    for action in ("change", "delete"):
        url = reverse(f"admin:retrieval_{name}_{action}", args=[first.pk])
        assert site.post(url, {"post": "yes"}).status_code == 403
    assert type(first).objects.filter(pk=first.pk).exists()


def test_a_pair_can_be_opened_and_shows_its_html_as_text(site: Client) -> None:
    page = site.get(reverse("admin:retrieval_qapair_changelist"))
    first = page.context["cl"].result_list[0]
    page = site.get(reverse("admin:retrieval_qapair_change", args=[first.pk]))
    assert page.status_code == 200
    assert b"&lt;b&gt;rain&lt;/b&gt;" in page.content
