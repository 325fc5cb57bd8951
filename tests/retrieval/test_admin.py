import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from retrieval.admin import LAST_PAGE
from retrieval.indexing.build import build_index
from retrieval.jobs.count_sources import ask_to_count
from retrieval.models import Job, Query
from retrieval.search.retrieve import retrieve
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.retrieval.jobs.run_jobs import worked
from tests.support.query_sets import sample_queries

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


def test_pairs_are_narrowed_to_a_source_that_was_counted(site: Client, add_pairs: AddPairs) -> None:
    add_pairs([("What is snow?", "Frozen water.")], "winter")
    url = reverse("admin:retrieval_qapair_changelist")
    assert "source=winter" not in site.get(url).content.decode()
    ask_to_count(None)
    worked(Job.objects.get())
    assert "source=winter" in site.get(url).content.decode()
    for source, questions in {"winter": ["What is snow?"], "none such": []}.items():
        found = site.get(url, {"source": source}).context["cl"].result_list
        assert [pair.question for pair in found] == questions


def test_no_list_searches_texts_row_by_row(site: Client) -> None:
    """The database's own page and a campaign's have the indexes, or look through so many."""
    for name in ("qapair", "query", "candidate"):
        with CaptureQueriesContext(connection) as asked:
            site.get(reverse(f"admin:retrieval_{name}_changelist"), {"q": "rain"})
        assert not [one["sql"] for one in asked if " LIKE " in one["sql"]], name


def test_queries_are_found_by_the_key_that_the_list_shows(site: Client) -> None:
    url = reverse("admin:retrieval_query_changelist")
    shown = Query.objects.filter(query_set__name="first")[0]
    with CaptureQueriesContext(connection) as asked:
        found = site.get(url, {"q": f" {shown.key} "}).context["cl"].result_list
    assert {one.key for one in found} == {shown.key}
    assert shown in found
    (report,) = [one["sql"] for one in asked if '"retrieval_query"."key" = ' in one["sql"]]
    # The index begins with the set: without one, every row would be read.
    assert '"retrieval_query"."query_set_id" IN (' in report
    narrowed = {"q": shown.key, "query_set__id__exact": shown.query_set_id}
    assert list(site.get(url, narrowed).context["cl"].result_list) == [shown]
    assert list(site.get(url, {"q": shown.key[:-1]}).context["cl"].result_list) == []


def test_a_list_is_read_from_its_beginning_alone(site: Client) -> None:
    page = reverse("admin:retrieval_candidate_changelist")
    assert site.get(page, {"p": LAST_PAGE}).status_code == 200
    beyond = site.get(page, {"p": LAST_PAGE + 1})
    assert beyond["Location"] == f"{page}?e=1"
