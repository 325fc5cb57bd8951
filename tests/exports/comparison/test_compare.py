import json
import math
from itertools import product
from math import sqrt
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest
from django.core.management.base import CommandError
from scipy import stats

from core.errors import UserError
from exports.comparison.compare import compare
from exports.comparison.named_runs import named_runs
from exports.comparison.published_results import NOTE
from exports.comparison.report import text
from exports.evaluation.evaluate import evaluate
from exports.evaluation.pair_metrics import PAIRWISE
from exports.evaluation.scoring import score_run, split_labels
from retrieval.ranking.metrics import Way
from tests.exports.support.small_release import small_release, written
from tests.support.command_line import quorum

FIRST = ("a1 a2 a3", "b1 b2 b3", "c1 c2 c3", "d1 d2 d3")
SECOND = ("a2 a3 a1", "b2 b3 b1", "c1 c2 c3", "d1 d2 d3")
OTHER = ("a3 a2 a1", "b1 b2 b3", "c1 c2 c3", "d1 d2 d3")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return small_release(tmp_path / "demo-1")


@pytest.fixture
def seeds(tmp_path: Path) -> str:
    runs = [written(tmp_path / "1.run", *FIRST), written(tmp_path / "2.run", *SECOND)]
    return f"mine={runs[0]},{runs[1]}"


@pytest.fixture
def other(tmp_path: Path) -> str:
    return f"other={written(tmp_path / 'other.run', *OTHER)}"


def compared(
    release: Path,
    *named: str,
    dev: tuple[str, ...] = (),
    split: str = "test",
    way: Way = "qrc",
    against: str = "retriever",
    paper: bool = False,
) -> Any:
    systems = named_runs(named, dev, release=release, split=split, against=against)
    return compare(systems, release, split=split, way=way, against=against, paper=paper)


def system(result: Any, name: str) -> Any:
    [found] = [one for one in result["systems"] if one["name"] == name]
    return found


def refusal(release: Path, *named: str, **options: Any) -> str:
    with pytest.raises(UserError) as refused:
        compared(release, *named, **options)
    return str(refused.value)


def test_the_figures_of_two_seeds_are_those_found_by_hand(
    release: Path, seeds: str, other: str
) -> None:
    result = compared(release, seeds, other, against="other")
    found = system(result, "mine")["metrics"]
    # The first seed's average precision: 1, (1/2 + 2/3) / 2, 0, 1; the second's: 1/3, 1, 0, 1.
    first, second = (1 + 7 / 12 + 0 + 1) / 4, (1 / 3 + 1 + 0 + 1) / 4
    assert found["MAP"]["value"] == pytest.approx((first + second) / 2, abs=1e-6)
    assert found["MAP"]["deviation"] == pytest.approx((first - second) / sqrt(2), abs=1e-6)
    assert (found["P@1"]["value"], found["P@1"]["deviation"]) == (0.5, 0)
    assert (found["Hit@5"]["value"], found["Hit@5"]["deviation"]) == (0.75, 0)
    assert result["queries"] == {"counted": 4, "dropped": 0}


def test_the_order_of_a_runs_queries_decides_nothing(release: Path, tmp_path: Path) -> None:
    runs = [written(tmp_path / "1.run", *OTHER), written(tmp_path / "2.run", *OTHER[::-1])]
    result = compared(release, f"mine={runs[0]}", f"other={runs[1]}", against="other")
    mine, other = (system(result, name)["pairs"] for name in ("mine", "other"))
    assert {mine[name].pop("p") for name in PAIRWISE} == {1}
    assert {other[name].pop("p") for name in PAIRWISE} == {None}
    for name in PAIRWISE:
        assert mine[name].pop("difference") == {"value": 0, "low": 0, "high": 0}
        assert other[name].pop("difference") is None
    assert mine == other


def test_a_query_that_a_run_lacks_keeps_its_place(release: Path, tmp_path: Path) -> None:
    run = written(tmp_path / "my.run", *reversed(OTHER[1:]))
    pairs = score_run(run, split_labels(release, "test")).pairs
    assert list(pairs.labels) == [1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1]
    assert str(list(pairs.scores)) == str([math.nan] * 3 + [0.9, 0.4, 0.1] * 3)
    assert pairs.sizes == [3] * 4


def test_hit_at_k_is_told_for_every_k_with_its_lowest_and_highest_seed(
    release: Path, seeds: str
) -> None:
    assert system(compared(release, seeds), "mine")["hit_at"] == {
        "value": [0.5, 0.625, 0.75],
        "lowest": [0.5, 0.5, 0.75],
        "highest": [0.5, 0.75, 0.75],
    }


def test_one_run_has_no_deviation(release: Path, other: str) -> None:
    found = system(compared(release, other), "other")
    assert [figure["deviation"] for figure in found["metrics"].values()] == [None] * 5
    assert found["hit_at"]["lowest"] == found["hit_at"]["highest"]


def test_the_runs_of_two_systems_are_told_apart_by_welch_s_test_as_the_papers_do(
    release: Path, seeds: str, tmp_path: Path
) -> None:
    runs = [written(tmp_path / "3.run", *OTHER), written(tmp_path / "4.run", *FIRST)]
    result = compared(release, seeds, f"other={runs[0]},{runs[1]}", against="other")
    ours, theirs = (
        system(result, "mine")["metrics"]["MAP"],
        system(result, "other")["metrics"]["MAP"],
    )
    mine = [(1 + 7 / 12 + 0 + 1) / 4, (1 / 3 + 1 + 0 + 1) / 4]
    others = [(1 / 3 + 7 / 12 + 0 + 1) / 4, (1 + 7 / 12 + 0 + 1) / 4]
    expected = stats.ttest_ind(mine, others, equal_var=False).pvalue
    assert ours["p_runs"] == pytest.approx(expected, abs=1e-6)
    assert theirs["p_runs"] is None
    assert system(result, "mine")["metrics"]["Hit@10"]["p_runs"] is None  # nothing differs
    assert [one for one in text(result).splitlines() if one.endswith(f"  {expected:.4f}")]
    alone = compared(release, f"one={runs[0]}", f"other={runs[1]}", against="other")
    assert system(alone, "one")["metrics"]["MAP"]["p_runs"] is None


def test_p_is_that_of_all_flips_of_each_querys_mean_over_the_seeds(
    release: Path, seeds: str, other: str
) -> None:
    result = compared(release, seeds, other, against="other")
    theirs = [1 / 3, 7 / 12, 0, 1]
    ours = [mean(pair) for pair in zip([1, 7 / 12, 0, 1], [1 / 3, 1, 0, 1], strict=True)]
    differences = [one - two for one, two in zip(ours, theirs, strict=True)]
    flipped = [
        abs(sum(sign * one for sign, one in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=4)
    ]
    exact = mean(value >= abs(sum(differences)) - 1e-9 for value in flipped)
    found = system(result, "mine")["metrics"]["MAP"]
    assert found["p"] == pytest.approx(exact, abs=0.02)
    draws = [mean(draw) for draw in product(differences, repeat=4)]
    low, high = np.quantile(draws, (0.025, 0.975))
    assert found["difference"] == {
        "value": pytest.approx((1 / 3 + 5 / 24) / 4, abs=1e-6),
        "low": pytest.approx(low, abs=1e-6),
        "high": pytest.approx(high, abs=1e-6),
    }
    for figure in system(result, "other")["metrics"].values():
        assert figure["p"] is figure["difference"] is None


def test_pairs_differ_by_the_mean_of_the_seeds_on_the_same_draws_of_queries(
    release: Path, seeds: str, other: str
) -> None:
    """From 0.5 on, each run takes its first candidate: 6, 6, and 4 of 12 pairs are rightly told."""
    result = compared(release, seeds, other, against="other")
    found = system(result, "mine")["pairs"]["Accuracy"]
    # Of a and b, 2 and 1 of 3 pairs in the mean of the seeds, beside 1 and 0; c and d are alike.
    draws = [mean(draw) / 3 for draw in product((1, 1, 0, 0), repeat=4)]
    low, high = np.quantile(draws, (0.025, 0.975))
    assert found["difference"] == {
        "value": pytest.approx(2 / 12, abs=1e-6),
        "low": pytest.approx(low, abs=1e-6),
        "high": pytest.approx(high, abs=1e-6),
    }
    assert system(result, "other")["pairs"]["Accuracy"]["difference"] is None


def test_one_run_has_the_figures_that_evaluate_gives(
    release: Path, tmp_path: Path, other: str
) -> None:
    for way in ("qrc", "clean"):
        found = system(compared(release, other, way=way), "other")
        alone: Any = evaluate(
            tmp_path / "other.run", release, split="test", against="retriever", way=way
        )
        for name, figure in alone["metrics"].items():
            for end, value in figure.items():
                assert found["metrics"][name][end] == pytest.approx(value, abs=1e-4)
            tested = {**found["metrics"][name]["difference"], "p": found["metrics"][name]["p"]}
            assert tested == pytest.approx(alone["difference"][name], abs=1e-4)
        assert found["pairs"]["ROC-AUC"]["value"] == pytest.approx(
            alone["pairs"]["ROC-AUC"], abs=1e-4
        )


def test_the_clean_way_drops_queries_of_one_label(release: Path, other: str) -> None:
    result = compared(release, other, way="clean")
    assert result["queries"] == {"counted": 2, "dropped": 2}
    assert system(result, "other")["metrics"]["MRR"]["value"] == pytest.approx(5 / 12, abs=1e-6)


def test_pairs_are_judged_at_the_threshold_that_is_best_on_dev(
    release: Path, tmp_path: Path
) -> None:
    run = written(tmp_path / "my.run", *FIRST)
    dev = written(tmp_path / "my-dev.run", "e1 e2 e3", "f2 f1 f3")
    result = compared(release, f"mine={run}", dev=(f"mine={dev}",))
    found = system(result, "mine")["pairs"]
    # On dev 0.9 tells all pairs apart; on test it takes a1 and d1 rightly, b1 and c1 wrongly.
    assert found["thresholds"] == [0.9]
    assert found["Accuracy"]["value"] == pytest.approx((2 + 4) / 12, abs=1e-6)
    f1 = found["F1"]
    assert (f1["value"], f1["deviation"]) == (pytest.approx(2 * 2 / (4 + 6), abs=1e-6), None)
    assert f1["low"] <= f1["value"] <= f1["high"]
    assert f"Threshold of mine (my.run): 0.9, the highest F1 on {dev.name}." in result["notes"]


def test_a_baselines_threshold_is_chosen_on_its_own_run_of_dev(release: Path) -> None:
    found = system(compared(release, "bm25"), "retriever")["pairs"]
    # The cosines on dev are 0.9, 0.8 and 0.7: e1 and f2 are right from 0.8 on.
    assert found["thresholds"] == [0.8]


def test_without_a_run_on_dev_scores_that_are_no_probabilities_have_no_threshold(
    release: Path, tmp_path: Path
) -> None:
    run = written(tmp_path / "my.run", *FIRST, scores=(7, 0, -3))
    result = compared(release, f"mine={run}")
    found = system(result, "mine")["pairs"]
    assert set(found["Accuracy"].values()) == set(found["F1"].values()) == {None}
    assert found["ROC-AUC"]["value"] is not None
    assert [note for note in result["notes"] if "none, as scores are outside 0 to 1" in note]


def test_what_a_run_lacks_is_told_as_evaluate_tells_it(release: Path, tmp_path: Path) -> None:
    run = written(tmp_path / "my.run", *FIRST[:3])
    result = compared(release, f"mine={run}")
    assert system(result, "mine")["coverage"][0]["missing_queries"] == 1
    assert [note for note in result["notes"] if f"{run} lacks: 1 (for example d)" in note]


def test_a_run_of_another_release_is_refused(release: Path, tmp_path: Path) -> None:
    run = tmp_path / "my.run"
    run.write_text("x Q0 y 1 0.5 mine\n")
    assert "is in test: the run has for example x" in refusal(release, f"mine={run}")


def test_seeds_of_different_queries_are_refused(release: Path, tmp_path: Path) -> None:
    runs = [written(tmp_path / "1.run", *FIRST), written(tmp_path / "2.run", *SECOND[1:])]
    assert refusal(release, f"mine={runs[0]},{runs[1]}") == (
        f"{runs[0]} and {runs[1]}, both of mine, rank different queries of test (for example a is "
        "in one of them alone): name the runs of one system, which differ in their seeds."
    )


def test_an_empty_split_is_refused(tmp_path: Path) -> None:
    release = small_release(tmp_path / "demo-1", test={})
    assert "The split test of" in refusal(release, "bm25")


def test_a_threshold_is_not_chosen_on_an_empty_dev(tmp_path: Path) -> None:
    release = small_release(tmp_path / "demo-1", dev={})
    run = written(tmp_path / "my.run", *FIRST)
    assert "The split dev of" in refusal(release, f"mine={run}", dev=(f"mine={run}",))
    assert system(compared(release, "bm25"), "bm25")["pairs"]["ROC-AUC"]["value"] is not None


def test_a_threshold_is_not_chosen_where_it_is_applied(release: Path, tmp_path: Path) -> None:
    dev = written(tmp_path / "my-dev.run", "e1 e2 e3", "f2 f1 f3")
    named = f"mine={dev}"
    assert "leave --dev-run out" in refusal(release, named, split="dev", dev=(named,))


def test_the_command_prints_three_tables_and_how_to_read_them(
    release: Path, seeds: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    quorum("release", "compare", seeds, other, "--release", str(release), "--paper")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"test of {release}"
    assert lines[1] == "QRC (a query without a positive counts 0): 4 queries, 0 dropped"
    rows = {line.split("  ")[0]: line for line in reversed(lines)}
    assert "50.0 ± 0.0" in rows["mine"]
    assert "61.5 ± 4.4" in rows["mine"]
    assert "25.0 ± \u2013" in rows["other"]
    assert "48.4 ± 0.4" in rows["S-RoBERTa QQA (QUADRo, Table 3)"]
    assert rows["S-RoBERTa QQ (QUADRo, Table 3)"].split("  ")[-1] == "52.9"
    assert rows["DeBERTa, QR (Question Reranking, Table 2)"].endswith("87.86 ± 0.25  97.05 ± 0.03")
    assert NOTE in lines
    less = next(place for place, line in enumerate(lines) if line.startswith("less retriever "))
    first, second = (line.split() for line in lines[less + 1 : less + 3])
    assert first == ["mine", "P@1", "0.0", "-37.5", "to", "37.5", "1.0000", "\u2013"]
    assert second[:3] == ["mine", "MAP", "-3.1"]  # a: 2/3 and b: 19/24; the retriever's: 1 and 7/12


def test_the_command_prints_markdown_to_be_pasted(
    release: Path, seeds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    named = seeds.replace("mine=", "my | model=")
    quorum("release", "compare", named, "--release", str(release), "--markdown")
    lines = capsys.readouterr().out.splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert table[0].startswith("| system | runs | P@1 | MAP | MRR |")
    assert table[1].startswith("| --- | ---: |")
    assert [line for line in table if line.startswith(r"| my \| model | 2 | 50.0 ± 0.0 |")]
    assert not [line for line in table if line.count(" | ") not in (9, 8, 5)]


def test_the_command_prints_one_line_of_json_and_draws_the_plot(
    release: Path, seeds: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "hit.svg"
    quorum("release", "compare", seeds, "--release", str(release), "--plot", str(plot), "--json")
    found = json.loads(capsys.readouterr().out)
    assert found.pop("plots") == [str(plot), str(tmp_path / "hit-dark.svg")]
    assert all(Path(path).is_file() for path in (plot, tmp_path / "hit-dark.svg"))
    assert found == compared(release, seeds)


@pytest.mark.parametrize(
    ("name", "reason"), [("hit.png", "end it in .svg"), ("no/hit.svg", "There is no folder")]
)
def test_the_command_refuses_a_plot_that_it_cannot_draw(
    release: Path, seeds: str, tmp_path: Path, name: str, reason: str
) -> None:
    with pytest.raises(CommandError, match=reason) as refused:
        quorum(
            "release", "compare", seeds, "--release", str(release), "--plot", str(tmp_path / name)
        )
    assert refused.value.returncode == 2
