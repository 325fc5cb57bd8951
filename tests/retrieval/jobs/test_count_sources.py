"""The figures that the database's page shows: counted by a job, and known to be old."""

from dataclasses import asdict

import pytest

from retrieval.corpus.sources.counts import source_counts
from retrieval.corpus.withdraw import withdraw_pairs
from retrieval.jobs.count_sources import Lacking, ask_to_count, newest_figures
from retrieval.models import Job, QaPair
from tests.retrieval.commands.weather import build
from tests.retrieval.conftest import AddPairs
from tests.retrieval.jobs.run_jobs import worked

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]


def counted() -> Job:
    job = ask_to_count(None)
    assert job is not None
    return worked(job)


def test_the_figures_kept_are_those_of_the_command(add_pairs: AddPairs) -> None:
    add_pairs([("What is rain?", "Water."), ("what is RAIN", "It falls.")], "a")
    add_pairs([("Why snow?", "It is cold up there.")], "b")
    counted()
    kept = newest_figures()
    assert kept is not None
    assert (kept.sources, kept.total) == source_counts()
    assert (kept.total.pairs, kept.total.questions) == (3, 2)
    assert not kept.stale


def test_the_figures_of_an_empty_database_are_zeros() -> None:
    assert newest_figures() is None
    assert counted().state == Job.State.DONE
    kept = newest_figures()
    assert kept
    assert (kept.sources, kept.total.pairs) == ([], 0)


def test_it_is_counted_once_at_a_time() -> None:
    assert ask_to_count(None)
    assert ask_to_count(None) is None


def test_figures_are_old_once_a_pair_has_come_or_was_withdrawn(add_pairs: AddPairs) -> None:
    [pair] = add_pairs([("What is rain?", "Water.")])
    for change in (
        lambda: add_pairs([("What is snow?", "Frozen.")]),
        lambda: withdraw_pairs([pair.pair_key]),
        lambda: withdraw_pairs([pair.pair_key], restore=True),
    ):
        counted()
        before = newest_figures()
        change()
        after = newest_figures()
        assert before is not None
        assert after is not None
        assert (before.stale, after.stale) == (False, True)


def test_what_the_current_index_lacks_is_counted(add_pairs: AddPairs) -> None:
    first, second = add_pairs([("What is rain?", "Water."), ("What is snow?", "Frozen.")])
    withdraw_pairs([second.pair_key])
    index = build()
    counted()
    kept = newest_figures()
    assert kept is not None
    assert kept.lacking == [Lacking(index.pk, since=0, restored=0)]
    add_pairs([(f"What is hail {n}?", "Ice.") for n in range(3)])
    withdraw_pairs([second.pair_key], restore=True)
    withdraw_pairs([QaPair.objects.latest("pk").pair_key])
    counted()
    kept = newest_figures()
    assert kept is not None
    assert list(map(asdict, kept.lacking)) == [{"index": index.pk, "since": 2, "restored": 1}]
    assert first.withdrawn_at is None
