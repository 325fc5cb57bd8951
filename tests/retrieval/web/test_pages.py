"""The pages that look: who may, what they show, and how little they ask the database for."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from retrieval.corpus.corpora import create_corpus
from retrieval.corpus.withdraw import withdraw_pairs
from retrieval.jobs.count_sources import ask_to_count
from retrieval.models import Job, QaPair
from tests.retrieval.commands.weather import build
from tests.retrieval.conftest import AddPairs
from tests.retrieval.jobs.run_jobs import sent, worked
from tests.retrieval.web.conftest import As
from tests.support.pages import parse

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>"
LOOKERS = ("looker", "importer", "withdrawer", "builder", "staff", "root")
MOST_QUERIES = 20


def pages(pair: QaPair) -> dict[str, tuple[str, ...]]:
    """And who may open each."""
    return {
        reverse("database"): LOOKERS,
        reverse("database-search"): LOOKERS,
        reverse("database-ask"): LOOKERS,
        reverse("database-search") + f"?by=id&q={pair.pk}": LOOKERS,
        reverse("database-pairs") + "?source=faq": LOOKERS,
        reverse("database-pair", args=[pair.pk]): LOOKERS,
        reverse("database-import"): ("importer", "root"),
    }


def counted() -> None:
    job = ask_to_count(None)
    assert job is not None
    worked(job)


@pytest.mark.parametrize("who", [*LOOKERS, "stranger", "nobody"])
def test_each_page_opens_for_those_who_may(add_pairs: AddPairs, as_: As, who: str) -> None:
    [pair] = add_pairs([("What is rain?", "Water.")])
    browser = as_(who)
    for address, allowed in pages(pair).items():
        answer = browser.get(address)
        if who == "nobody":
            assert answer.headers["Location"].startswith("/sign-in?next=/admin/database/")
        else:
            assert answer.status_code == (200 if who in allowed else 403), address


def test_an_account_that_is_not_active_sees_nothing(as_: As) -> None:
    browser = as_("looker")
    User.objects.filter(username="looker").update(is_active=False)
    assert browser.get(reverse("database")).status_code == 302


def test_the_pages_need_few_queries_and_count_no_table(add_pairs: AddPairs, as_: As) -> None:
    add_pairs([(f"What is rain {n}?", "Water.") for n in range(60)])
    pair = QaPair.objects.earliest("pk")
    withdraw_pairs([pair.pair_key])
    build()
    counted()
    browser = as_("root")
    for address in pages(pair):
        with CaptureQueriesContext(connection) as asked:
            assert browser.get(address).status_code == 200
        assert len(asked) <= MOST_QUERIES, address
        statements = [query["sql"] for query in asked]
        assert not [one for one in statements if re.search(r"COUNT\(|GROUP BY", one)], address


def test_the_database_s_page_shows_table_1_with_licences(as_: As) -> None:
    rows = b"question,answer,license\nWhy?,So it is.,CC0\nHow?,Thus.,MIT\nWhy?,Because.,MIT\n"
    worked(sent({"a.csv": rows}, source="faq"))
    browser = as_("staff")
    assert b"have not been counted yet" in browser.get(reverse("database")).content
    for job in Job.objects.filter(state="queued"):  # which the import asked for
        worked(job)
    answer = browser.get(reverse("database"))
    [one] = answer.context["figures"].sources
    assert (one.pairs, one.questions, one.licenses) == (3, 2, {"MIT": 2, "CC0": 1})
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))
    assert "faq MIT (2) CC0 (1) 3 2 1.0 ± 0.0 1.7 ± 0.9 0" in text
    assert "Up to date" in text


def test_the_indexes_are_shown_with_what_the_current_one_lacks(
    add_pairs: AddPairs, as_: As
) -> None:
    add_pairs([(f"What is rain {n}?", "Water.") for n in range(40)])
    build("QQ")
    build("QQA")
    add_pairs([("What is snow?", "Frozen.")])
    browser = as_("staff")
    [current, before] = browser.get(reverse("database")).context["versions"]
    assert (current.index.form, current.current, current.missing) == (
        "QQA", True, "not counted yet",
    )  # fmt: skip
    assert (before.index.form, before.current) == ("QQ", False)
    counted()
    [current, _] = browser.get(reverse("database")).context["versions"]
    assert current.missing == "1 pair that came after it"
    assert current.bytes > 40 * current.index.dimension * 2


def test_a_corpus_is_made_before_any_import_and_its_index_by_a_button(
    add_pairs: AddPairs, as_: As
) -> None:
    browser = as_("root")
    page = reverse("database")
    assert "Create a corpus</a>" in browser.get(page).content.decode()
    add_pairs([("What is rain?", "Water.")])
    create_corpus("weather", ["faq"])
    (form,) = parse(browser.get(page)).xpath("//form[input[@name='corpus' and @value='weather']]")
    given = {one.get("name"): one.get("value") for one in form.iter("input")}
    assert browser.post(form.get("action"), given).status_code == 302
    assert Job.objects.get(kind="index").arguments["corpus"] == "weather"


def test_work_is_shown_to_those_who_asked_for_it_and_to_the_staff(as_: As) -> None:
    mine = as_("importer")
    job = sent(
        {"a.csv": b"question,answer\nWhy?,So.\nWhy?\n"}, by=User.objects.get(username="importer")
    )
    address = reverse("database-imported", args=[job.pk])
    csv = reverse("database-rejected", args=[job.pk, 1])
    assert mine.get(csv).status_code == 404  # until it has ended
    worked(job)
    for who, status in {"importer": 200, "staff": 200, "looker": 404, "stranger": 403}.items():
        assert as_(who).get(address).status_code == status
        assert as_(who).get(csv).status_code == status
    assert as_("nobody").get(csv).status_code == 302
    for number in (2, 10**300):  # which is longer than a file's name may be
        assert mine.get(reverse("database-rejected", args=[job.pk, number])).status_code == 404
    other = ask_to_count(None) or Job.objects.latest("pk")
    assert as_("root").get(reverse("database-imported", args=[other.pk])).status_code == 404


def test_the_rejected_rows_come_as_csv_without_formulas(as_: As) -> None:
    job = worked(sent({"a.csv": b'question,answer\nWhy?,So.\n=1+1\n"@x"\n'}))
    page = as_("staff").get(reverse("database-imported", args=[job.pk]))
    assert b"the row has 1 column, the header 2" in page.content
    answer: Any = as_("staff").get(reverse("database-rejected", args=[job.pk, 1]))
    assert b"".join(answer.streaming_content).decode().splitlines() == [
        "line,reason,text",
        '3,"the row has 1 column, the header 2",\'=1+1',
        '4,"the row has 1 column, the header 2",\'@x',
    ]
    assert answer.headers["Content-Disposition"].startswith("attachment")


def test_hostile_texts_are_shown_as_texts(as_: As) -> None:
    name = f"{HOSTILE}.jsonl"
    row = f'{{"question": "{HOSTILE}", "answer": "{HOSTILE}", "id": "{HOSTILE}"}}\n{HOSTILE}\n'
    job = worked(sent({name: row.encode()}, source=HOSTILE, license=HOSTILE))
    assert job.state == Job.State.DONE, job.error
    counted_by = Job.objects.get(state="queued")
    worked(counted_by)
    pair = QaPair.objects.get()
    browser = as_("root")
    for address in (
        reverse("database"),
        reverse("database-imported", args=[job.pk]),
        reverse("database-pair", args=[pair.pk]),
        reverse("database-import"),
        reverse("database-search"),
        f"{reverse('database-search')}?by=id&q={HOSTILE}",
        f"{reverse('database-ask')}?q={HOSTILE}",
        f"{reverse('database-pairs')}?source={HOSTILE}",
    ):
        page = browser.get(address).content.decode()
        assert HOSTILE not in page
        assert "&lt;script&gt;" in page


def test_leafing_through_a_source_shows_each_of_its_pairs_once(
    add_pairs: AddPairs, as_: As
) -> None:
    add_pairs([(f"What is rain {n}?", "Water.") for n in range(120)])
    add_pairs([("What is snow?", "Frozen.")], "another")
    browser, address, seen = as_("looker"), reverse("database-pairs"), []
    after = ""
    for _ in range(4):
        page = browser.get(address, {"source": "faq", "after": after}).context
        seen += [pair.pk for pair in page["pairs"]]
        after = page["next"]
        if not after:
            break
    assert sorted(seen) == sorted(QaPair.objects.filter(source="faq").values_list("pk", flat=True))


@pytest.mark.parametrize("asked", ["", "a" * 500, "%ED%A0%80", "%00", "%FF"])
def test_an_address_that_means_nothing_finds_nothing(as_: As, asked: str) -> None:
    address = f"{reverse('database-pairs')}?source={asked}&after={asked}"
    answer = as_("looker").get(address)
    assert answer.status_code == 200
    assert answer.context["pairs"] == []
