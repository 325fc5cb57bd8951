import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.management.base import CommandError

from core.errors import UserError
from exports.comparison.compare import compare
from exports.comparison.named_runs import named_runs
from exports.evaluation.baselines import baselines, write_runs
from exports.evaluation.evaluate import evaluate
from exports.evaluation.scoring import split_labels
from exports.evaluation.systems import AS_IMPORTED
from retrieval.ranking.metrics import Way
from retrieval.ranking.records import read
from tests.exports.support.extracts import random_extract, spread
from tests.support.command_line import quorum

METRICS = ["P@1", "MAP", "MRR", "Hit@5", "Hit@10"]
Run = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "demo-1"
    spread(random_extract(5, queries=120, candidates=12), folder)
    write_runs(folder)
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Run], Path]:
    def write(run: Run) -> Path:
        path = tmp_path / "mine.run"
        with path.open("w") as file:
            for query, scores in run.items():
                for name, score in scores.items():
                    file.write(f"{query} Q0 {name} 1 {score} mine\n")
        return path

    return write


def judged(release: Path, split: str = "test") -> dict[str, dict[str, int]]:
    return {query: dict(labels) for query, labels in split_labels(release, split).items()}


def perfect(release: Path) -> Run:
    return {
        query: {name: float(label) for name, label in labels.items()}
        for query, labels in judged(release).items()
    }


def scored(
    run: Path,
    release: Path,
    *,
    split: str = "test",
    against: str = "retriever",
    way: Way = "qrc",
    dev_run: Path | None = None,
) -> Any:
    return evaluate(run, release, split=split, against=against, way=way, dev_run=dev_run)


def refusal(run: Path, release: Path, **options: Any) -> str:
    with pytest.raises(UserError) as refused:
        scored(run, release, **options)
    return str(refused.value)


@pytest.mark.parametrize("split", ["dev", "test"])
@pytest.mark.parametrize("system", ["bm25", "retriever"])
def test_a_baseline_evaluated_against_itself_has_its_figures_and_no_difference(
    release: Path, split: str, system: str
) -> None:
    run = release / "trec" / f"{split}.{system}.run"
    found = scored(run, release, split=split, against=system)
    splits: Any = baselines(release)["splits"]
    assert found["metrics"] == found["against"]["metrics"] == splits[split][system]
    same = {"value": 0, "low": 0, "high": 0, "p": 1}
    assert found["difference"] == dict.fromkeys(METRICS, same)
    assert set(found["coverage"].values()) == {0}


def test_a_shuffled_run_is_worse_beyond_chance(release: Path, write: Callable[[Run], Path]) -> None:
    random = Random(1)
    run = {
        query: {name: random.random() for name in labels}
        for query, labels in judged(release).items()
    }
    found = scored(write(run), release)["difference"]
    assert found["MAP"]["p"] < 0.001
    assert found["MAP"]["value"] < found["MAP"]["high"] < 0


def test_a_perfect_run_is_better_beyond_chance(release: Path, write: Callable[[Run], Path]) -> None:
    found = scored(write(perfect(release)), release, against="bm25", way="clean")
    assert found["metrics"]["MAP"] == {"value": 1, "low": 1, "high": 1}
    assert found["difference"]["MAP"]["p"] < 0.001
    assert 0 < found["difference"]["MAP"]["low"] < found["difference"]["MAP"]["value"]


def test_the_clean_way_drops_queries_and_says_so(
    release: Path, write: Callable[[Run], Path]
) -> None:
    labels = judged(release).values()
    mixed = sum(0 < sum(found.values()) < len(found) for found in labels)
    found = scored(write(perfect(release)), release, way="clean")
    assert 0 < mixed < len(labels)
    assert found["queries"] == {"counted": mixed, "dropped": len(labels) - mixed}
    assert found["way"] == "AS2 clean (all-positive and all-negative queries are dropped)"
    assert scored(write(perfect(release)), release)["queries"]["dropped"] == 0


def test_another_run_may_be_the_baseline(
    release: Path, write: Callable[[Run], Path], tmp_path: Path
) -> None:
    mine = write(perfect(release)).rename(tmp_path / "theirs.run")
    ours = release / "trec" / "test.bm25.run"
    one = scored(ours, release, against=str(mine))["difference"]
    other = scored(mine, release, against="bm25")["difference"]
    assert one["MAP"]["value"] == -other["MAP"]["value"] < 0
    assert one["MAP"]["p"] == other["MAP"]["p"]


def test_json_scores_and_a_trec_run_are_scored_alike(release: Path, tmp_path: Path) -> None:
    run = release / "trec" / "test.bm25.run"
    rows = [line.split() for line in run.read_text().splitlines()]
    lines = [
        json.dumps({"query_id": row[0], "candidate_id": row[2], "score": float(row[4])}) + "\n"
        for row in rows
    ]
    Random(3).shuffle(lines)
    (tmp_path / "scores.jsonl").write_text("".join(lines))
    found = scored(tmp_path / "scores.jsonl", release)
    assert found["metrics"] == scored(run, release)["metrics"]


def test_missing_queries_count_0_and_are_told(release: Path, write: Callable[[Run], Path]) -> None:
    run = perfect(release)
    first, *others = run
    whole = scored(write(run), release)
    found = scored(write({query: run[query] for query in others}), release)
    answerable = max(judged(release)[first].values())
    expected = whole["metrics"]["MAP"]["value"] - answerable / len(run)
    assert found["metrics"]["MAP"]["value"] == pytest.approx(expected, abs=1e-4)
    assert found["coverage"]["missing_queries"] == 1
    assert f"lacks: 1 (for example {first}); they count as nothing" in found["notes"][0]


def test_unranked_candidates_are_not_retrieved_and_are_told(
    release: Path, write: Callable[[Run], Path]
) -> None:
    labels = judged(release)
    run = {
        query: {name: 1.0 for name, label in found.items() if not label} or {"x": 1.0}
        for query, found in labels.items()
    }
    found = scored(write(run), release)
    assert [found["metrics"][name]["value"] for name in METRICS] == [0, 0, 0, 0, 0]
    positives = sum(sum(found.values()) for found in labels.values())
    assert found["coverage"]["unranked_candidates"] == positives
    assert f": {positives}; they count as not retrieved" in found["notes"][0]


def test_unjudged_candidates_keep_their_places_and_are_told(
    release: Path, write: Callable[[Run], Path]
) -> None:
    run = {query: {"new\x1b[2J": 9.0} | scores for query, scores in perfect(release).items()}
    found = scored(write(run), release)
    share = scored(write(perfect(release)), release)["metrics"]["MRR"]["value"]
    assert found["metrics"]["P@1"]["value"] == 0
    assert found["metrics"]["MRR"]["value"] == pytest.approx(share / 2, abs=1e-4)
    assert found["coverage"]["unjudged_candidates"] == len(run)
    assert "(for example new?[2J); nobody judged them" in found["notes"][0]


def test_queries_of_other_splits_and_unknown_ones_are_left_aside(
    release: Path, write: Callable[[Run], Path]
) -> None:
    dev = [query.id for query in read(release / "dev.jsonl")]
    run = perfect(release) | {query: {"a": 1.0} for query in [*dev, "unheard"]}
    found = scored(write(run), release)
    assert found["metrics"] == scored(write(perfect(release)), release)["metrics"]
    assert found["coverage"]["queries_of_other_splits"] == len(dev)
    assert found["coverage"]["unknown_queries"] == 1
    assert [note for note in found["notes"] if note.startswith("Queries of other splits in ")]


def test_a_run_of_another_split_is_refused_with_both_ids(release: Path) -> None:
    run = release / "trec" / "dev.bm25.run"
    theirs, ours = (next(read(release / f"{split}.jsonl")).id for split in ("dev", "test"))
    assert refusal(run, release) == (
        f"No query of {run} is in test: the run has for example {theirs} (a query of dev), test "
        f"has {ours}: name the run's split by --split, or use the release's ids."
    )


def test_foreign_ids_are_refused_with_an_example_of_both_sides(
    release: Path, write: Callable[[Run], Path]
) -> None:
    query, labels = next(iter(judged(release).items()))
    assert f"has for example X1, test has {query}: name" in refusal(
        write({"X1": {"a": 1.0}}), release
    )
    assert f"has for example D1, test has {next(iter(labels))}: use the release's ids" in refusal(
        write({query: {"D1": 1.0}}), release
    )


def test_what_is_no_release_is_refused(release: Path, tmp_path: Path) -> None:
    run = release / "trec" / "test.bm25.run"
    assert refusal(run, tmp_path).startswith(f"{tmp_path} is no release's folder, it lacks test")
    assert refusal(run, run).startswith(f"{run} is no release's folder")
    assert refusal(run, release, split="tset") == (
        "There is no split tset: choose train, dev, test."
    )


def test_an_empty_split_is_refused(tmp_path: Path) -> None:
    folder = spread(random_extract(1, queries=3), tmp_path / "demo-1")
    (folder / "dev.jsonl").write_bytes(b"")
    assert refusal(tmp_path / "mine.run", folder, split="dev") == (
        f"The split dev of {folder} is empty: choose another by --split."
    )


@pytest.mark.parametrize("name", ["test.jsonl", "placements.jsonl"])
def test_a_damaged_release_is_refused(tmp_path: Path, name: str) -> None:
    folder = spread(random_extract(1, queries=20), tmp_path / "demo-1")
    write_runs(folder)
    (folder / name).write_bytes((folder / name).read_bytes()[:-5])
    run = folder / "trec" / ("test.bm25.run" if name == "test.jsonl" else "dev.bm25.run")
    assert f"{folder} is damaged" in refusal(run, folder)


@pytest.mark.parametrize(
    ("against", "expected"),
    [
        ("bm25", "lacks trec/test.bm25.run"),
        ("nowhere.run", "cannot be read: No such file or directory"),
    ],
)
def test_a_baseline_that_is_not_there_is_refused(
    tmp_path: Path, against: str, expected: str
) -> None:
    folder = spread(random_extract(1, queries=20), tmp_path / "demo-1")
    write_runs(folder)
    (folder / "trec" / "test.bm25.run").unlink()
    run = folder / "trec" / "test.retriever.run"
    assert expected in refusal(run, folder, against=against)


@pytest.mark.parametrize("against", ["retriever", "bm25"])
def test_the_order_of_an_import_is_not_taken_for_a_retriever(tmp_path: Path, against: str) -> None:
    """In `compare`, too."""
    extract = random_extract(1, queries=20)
    extract.campaign["retriever"] = None
    folder = spread(extract, tmp_path / "demo-1")
    write_runs(folder)
    run, other = (folder / "trec" / f"test.bm25.{name}" for name in ("run", "copy"))
    other.write_bytes(run.read_bytes())
    notes = scored(other, folder, against=against)["notes"]
    assert (AS_IMPORTED in notes) == (against == "retriever")
    mine = named_runs([f"mine={other}"], [], release=folder, split="test", against=against)
    compared: Any = compare(
        mine, folder, split="test", way="qrc", against=against, paper=False, by="f1"
    )
    assert (AS_IMPORTED in compared["notes"]) == (against == "retriever")


def test_the_command_prints_a_table_and_a_verdict(
    release: Path, write: Callable[[Run], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(perfect(release))
    quorum("release", "evaluate", str(run), "--release", str(release), "--against", "bm25")
    out = capsys.readouterr().out
    found = scored(run, release, against="bm25")
    value, p = found["metrics"]["MAP"]["value"], found["difference"]["MAP"]["p"]
    assert f"\nMAP     {value:.4f} [" in out
    assert f"  {p:.4f}\n" in out
    assert "QRC (a query without a positive counts 0): " in out
    assert "the run is better than bm25 in P@1, MAP, MRR" in out.splitlines()[-1]


def test_the_threshold_of_pairs_is_chosen_on_a_run_of_dev(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, dev = (release / "trec" / f"{split}.bm25.run" for split in ("test", "dev"))
    quorum("release", "evaluate", str(run), "--release", str(release), "--dev-run", str(dev))
    [line] = [one for one in capsys.readouterr().out.splitlines() if one.startswith("Pair by")]
    pairs = scored(run, release, dev_run=dev)["pairs"]
    assert 0 < pairs["positive"] < pairs["judged"]
    assert f"F1 {pairs['F1']:.4f}, ROC-AUC {pairs['ROC-AUC']:.4f}; threshold: " in line
    assert line.endswith(f"{pairs['threshold']:.6g}, the highest F1 on {dev.name}.")
    words = ["--release", str(release), "--dev-run", str(dev), "--by", "precision"]
    quorum("release", "evaluate", str(run), *words)
    assert f", the highest precision on {dev.name}." in capsys.readouterr().out


def test_scores_that_are_no_probabilities_have_no_threshold_without_one(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = release / "trec" / "test.bm25.run"
    quorum("release", "evaluate", str(run), "--release", str(release))
    [line] = [one for one in capsys.readouterr().out.splitlines() if one.startswith("Pair by")]
    assert "Accuracy" not in line
    assert line.endswith(
        "threshold: none, as scores are outside 0 to 1 and there is no run on dev."
    )


def test_a_threshold_is_not_chosen_where_it_is_applied(release: Path) -> None:
    dev = release / "trec" / "dev.bm25.run"
    assert "leave --dev-run out" in refusal(dev, release, split="dev", dev_run=dev)


def test_the_command_prints_one_line_of_json(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = release / "trec" / "dev.bm25.run"
    quorum(
        "release",
        "evaluate",
        str(run),
        "--release",
        str(release),
        "--split",
        "dev",
        "--way",
        "clean",
        "--json",
    )
    out = capsys.readouterr().out
    assert json.loads(out) == scored(run, release, split="dev", way="clean")
    assert out.count("\n") == 1


def test_the_command_refuses_with_exit_status_2(release: Path) -> None:
    with pytest.raises(CommandError, match="is no release's folder") as refused:
        quorum("release", "evaluate", "mine.run", "--release", str(release / "trec"))
    assert refused.value.returncode == 2
