from pathlib import Path

import pytest

from core.errors import UserError
from exports.comparison.named_runs import NamedRuns, named_runs

RELEASE = Path("demo-1")
MINE = "mine=1.run,2.run"


def named(*texts: str, dev: tuple[str, ...] = (), against: str = "retriever") -> list[NamedRuns]:
    return named_runs(texts, dev, release=RELEASE, split="test", against=against)


def test_a_system_has_a_name_and_a_run_of_each_seed() -> None:
    [_, mine] = named(MINE)
    assert mine == NamedRuns("mine", (Path("1.run"), Path("2.run")))


def test_the_baseline_to_test_against_comes_first_unless_it_has_a_place() -> None:
    assert [entry.name for entry in named(MINE)] == ["retriever", "mine"]
    assert [entry.name for entry in named(MINE, "retriever")] == ["mine", "retriever"]
    assert [entry.name for entry in named(MINE, against="mine")] == ["mine"]


def test_a_baselines_run_is_the_releases() -> None:
    [bm25] = named("bm25", against="bm25")
    assert bm25 == NamedRuns("bm25", (Path("demo-1/trec/test.bm25.run"),))


def test_runs_on_dev_go_with_the_system_of_their_name() -> None:
    [_, mine] = named(MINE, dev=("mine=3.run,4.run",))
    assert mine.dev_runs == (Path("3.run"), Path("4.run"))


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["my.run"], "my.run names no runs: write NAME=RUN[,RUN...] or a baseline (retriever, bm"),
        (["mine="], "mine= names no runs"),
        (["mine=a.run,"], "names no runs"),
        (["bm25=a.run"], "bm25 is the name of a baseline"),
        (["=a.run"], "'' is no name for a table"),
        (["_mine=a.run"], "'_mine' is no name for a table: begin with a letter or a digit"),
        (["m\x1b[2J=a.run"], "'m?[2J' is no name"),
        ([f"{'m' * 41}=a.run"], "at most 40 characters"),
        ([MINE, "mine=3.run"], "mine is named twice"),
        (["bm25", "bm25"], "bm25 is named twice"),
        (["mine=a.run,a.run"], "mine has the run a.run twice"),
    ],
)
def test_what_names_no_systems_is_refused(texts: list[str], reason: str) -> None:
    with pytest.raises(UserError) as refused:
        named(*texts)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("dev", "reason"),
    [
        (["mine=3.run"], "mine has 2 runs and 1 of dev: give one of dev for each"),
        (["yours=3.run"], "--dev-run yours names none of retriever, mine"),
        ([MINE, MINE], "--dev-run names mine twice"),
    ],
)
def test_runs_on_dev_that_fit_no_system_are_refused(dev: list[str], reason: str) -> None:
    with pytest.raises(UserError) as refused:
        named(MINE, dev=tuple(dev))
    assert reason in str(refused.value)


def test_a_system_to_test_against_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match="--against yours names none of mine"):
        named(MINE, against="yours")
