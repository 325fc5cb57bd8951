"""Metrics when labels may be wrong and the pool hides something."""

import json
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

from core.errors import UserError
from exports.comparison.compare import compare
from exports.comparison.named_runs import named_runs
from exports.evaluation.evaluate import evaluate
from exports.evaluation.uncertainty import EXACT, Uncertainty, by_audit, label_chances, ranks_by
from exports.evaluation.worlds import LabelChances, LogOdds, Worlds, metrics
from exports.layout.files import CAMPAIGN, GOLD
from exports.layout.manifest import ERRORS
from retrieval.ranking.metrics import METRICS, Ranking, values
from tests.exports.support.small_release import small_release
from tests.support.command_line import quorum

NOTHING_HIDDEN = np.zeros((1, 0), bool)
AP = list(METRICS).index("MAP")


def certain(labels: Any) -> LabelChances:
    return LabelChances(np.array(labels, float))


def test_the_metrics_of_a_world_are_those_of_ir_measures() -> None:
    random = Random(3)
    rankings = [
        Ranking([int(random.random() < 0.2) for _ in range(random.randint(0, 15))], 0, 20)
        for _ in range(200)
    ]
    rankings = [Ranking(one.labels, sum(one.labels) + random.randint(0, 2), 20) for one in rankings]
    labels = np.zeros((len(rankings), 15), bool)
    for row, one in enumerate(rankings):
        labels[row, : len(one.labels)] = one.labels
    positives = np.array([one.positives for one in rankings], float)
    np.testing.assert_allclose(metrics(labels, positives), values(rankings), atol=1e-12)


def test_the_mean_over_worlds_is_that_of_all_labels_weighed_by_their_chances() -> None:
    labels = {"a": {"a1": 1, "a2": 0}, "b": {"b1": 0, "b2": 1, "b3": 0}}
    chances = [0.9, 0.3, 0.2, 0.6, 0.5]
    orders = [["a2", "new", "a1"], ["b1", "b2", "other", "b3"]]
    hidden = np.array([[True, False], [False, False], [True, True]])
    every = np.full(5, True), LogOdds.exact(logit(chances))
    worlds = Worlds(LabelChances(np.full(5, np.nan), [every]), [2, 3], hidden, "qrc")
    wanted = np.zeros(len(METRICS))
    for drawn in product((0, 1), repeat=5):
        weight = np.prod([p if one else 1 - p for p, one in zip(chances, drawn, strict=True)])
        truth = dict(zip(["a1", "a2", "b1", "b2", "b3"], drawn, strict=True))
        for order, deep in product(orders, hidden):
            of_query = [name for name in truth if name[0] == order[-1][0]]
            said = [deep[0] if name in ("new", "other") else truth[name] for name in order]
            positives = sum(truth[name] for name in of_query) + int(deep.sum())
            one = Ranking([int(label) for label in said], positives, 3)
            wanted += weight * values([one])[0] / 6
    means = worlds.means([[orders]], labels)[:, 0]
    assert (abs(means.mean(axis=0) - wanted) < 4 * means.std(axis=0) / 1000**0.5).all()


def test_a_candidate_that_nobody_judged_is_the_same_whichever_run_ranks_it() -> None:
    labels = {"a": {"a1": 0}}
    worlds = Worlds(certain([0]), [1], np.array([[True, False]]), "qrc")
    [first, second] = worlds.cells([[["new", "a1"]], [["a1", "other", "new"]]], labels)
    assert first.tolist() == [[1, 0, 3]]
    assert second.tolist() == [[0, 2, 1]]


def test_a_query_counts_in_the_clean_way_as_its_labels_are_drawn() -> None:
    labels = {"a": {"a1": 1, "a2": 1}, "b": {"b1": 1, "b2": 0}}
    orders = [["a1", "a2"], ["b1", "b2"]]
    worlds = Worlds(certain([1, 1, 1, 0]), [2, 2], NOTHING_HIDDEN, "clean")
    drawn = worlds.means([[orders]], labels)
    assert np.nanmin(drawn) == 1  # of b alone, and of nothing where b is not drawn
    assert 0.15 < np.isnan(drawn[:, 0, 0]).mean() < 0.35


def test_intervals_cover_the_truth_of_labels_that_err_where_the_usual_ones_do_not() -> None:
    """MAP over queries whose labels miss a fifth of the positives and invent one in twenty."""
    random, covered, usual, runs = np.random.RandomState(5), 0, 0, 16
    for _ in range(runs):
        truth = random.random_sample((150, 8)) < np.linspace(0.6, 0.05, 8)
        given = np.where(truth, random.random_sample(truth.shape) >= 0.2, 0)
        given = np.where(truth, given, random.random_sample(truth.shape) < 0.05).astype(bool)
        audited = random.choice(truth.size, 400, replace=False)
        ranks = np.tile(np.arange(1.0, 9), 150)[:, None]
        parts = []
        for kind in (given.ravel(), ~given.ravel()):
            said = np.bincount(truth.ravel()[audited][kind[audited]], minlength=2).tolist()
            parts.append((kind, by_audit(*said, pairs=int(kind.sum()))))
        labels = {
            str(row): {f"{row} {at}": int(one) for at, one in enumerate(of)}
            for row, of in enumerate(given)
        }
        orders = [list(of) for of in labels.values()]
        unknown = np.full(given.size, np.nan)
        wide, narrow = (
            Worlds(chances, [8] * 150, NOTHING_HIDDEN, "qrc").means([[orders]], labels, worlds=200)[
                :, 0, AP
            ]
            for chances in (
                LabelChances(unknown, parts).with_ranks(ranks),
                certain(given.ravel()),
            )
        )
        # Of all queries that there might be: the mean of very many.
        whole = random.random_sample((20000, 8)) < np.linspace(0.6, 0.05, 8)
        real_map = metrics(whole, whole.sum(axis=1))[:, AP].mean()
        covered += np.quantile(wide, 0.025) <= real_map <= np.quantile(wide, 0.975)
        usual += np.quantile(narrow, 0.025) <= real_map <= np.quantile(narrow, 0.975)
    assert covered >= 0.9 * runs > 0.6 * runs > usual


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Experts have judged 12 of its candidates blindly, as many of each label, one wrongly."""
    test = {f"q{n}": {f"q{n}a": 1, f"q{n}b": 0} for n in range(20)}
    folder = small_release(tmp_path / "demo-1", test=test)
    gold = [
        {"query_id": f"q{n}", "candidate_id": f"q{n}{name}", "label": int(name == "a" and n > 0)}
        | {"expert": "x", "blind_label": None, "source": "sample"}
        for n in range(12)
        for name in "ab"
    ]
    (folder / GOLD).write_text("".join(json.dumps(row) + "\n" for row in gold))
    return folder


def test_what_experts_said_is_certain_and_the_rest_as_often_wrong_as_theirs(release: Path) -> None:
    chances, assumed = label_chances(release, "test")
    said = chances.known.reshape(20, 2)
    assert said[:12].tolist() == [[0, 0], *[[1, 0]] * 11]
    assert np.isnan(said[12:]).all()
    random = np.random.RandomState(1)
    drawn = np.array([chances.draw(random).reshape(20, 2)[12:] for _ in range(500)])
    negatives, positives = drawn[..., 1].mean(), drawn[..., 0].mean()
    assert 0.8 < positives < 0.95
    assert 0.005 < negatives < 0.1
    assert assumed == (
        "24 labels are as experts say, or drawn by their posteriors, 16 as often wrong as blind "
        "experts contradict those of the same kind (0 of 12 negatives and 1 of 12 positives). "
        "Given the truth, a label is taken to err independently of other labels and of the ranks "
        "that systems give."
    )


@pytest.fixture
def mapped(release: Path) -> Path:
    """Its labels carry posteriors, and nothing else says how often they are wrong."""
    (release / GOLD).unlink()
    lines = [json.loads(line) for line in (release / "test.jsonl").read_text().splitlines()]
    for query in lines:
        for candidate in query["candidates"]:
            posterior = 0.9 if candidate["label"] else 0.25
            candidate["aggregation"] = {"posterior": posterior, "majority": None}
    (release / "test.jsonl").write_text("".join(json.dumps(query) + "\n" for query in lines))
    return release


def test_a_label_is_drawn_by_the_posterior_that_it_carries(mapped: Path) -> None:
    chances, assumed = label_chances(mapped, "test")
    [(pairs, odds)] = chances.parts
    assert pairs.all()
    np.testing.assert_allclose(expit(odds.draw(np.random.RandomState(1))), [0.9, 0.25] * 20)
    assert assumed.startswith(
        "40 labels are as experts say, or drawn by their posteriors. Posteriors are taken as "
        "exact: the release does not tell how sure they are. Given the truth"
    )
    with pytest.raises(UserError, match="experts judged 0 of its negatives blindly"):
        label_chances(mapped, "dev")  # whose labels carry none


def test_the_map_from_claims_to_chances_is_drawn_as_sure_as_each_crowd_s_audit(
    mapped: Path,
) -> None:
    """The first ten queries' audit has no end."""
    fit = {"offset": -0.5, "slope": 2.0, "error_correlation": -0.5}
    fits = [
        fit | {"offset_error": 0.0, "slope_error": 0.0},
        fit | {"offset_error": 0.3, "slope_error": 0.1},
    ]
    crowds = [{"query_ids": [f"q{n}" for n in some]} for some in (range(10), range(10, 20))]
    (mapped / CAMPAIGN).write_text(json.dumps({"aggregation": fits, "crowds": crowds}))
    chances, assumed = label_chances(mapped, "test")
    assert "The intervals also hold how uncertain the map from claims to chances is." in assumed
    (sure, endless), (unsure, small) = chances.parts
    assert np.flatnonzero(sure).tolist() == [*range(20)]
    assert np.flatnonzero(unsure).tolist() == [*range(20, 40)]
    random = np.random.RandomState(1)
    np.testing.assert_allclose(expit(endless.draw(random)), [0.9, 0.25] * 10)
    np.testing.assert_allclose(expit(small.expected), [0.9, 0.25] * 10)
    # A claim of 1.3486 makes 2.1972 of -0.5 + 2 * 1.3486: log-odds of 0.9. The variance there is
    # 0.3 ** 2 + (0.1 * 1.3486) ** 2 - 0.3 * 0.1 * 1.3486.
    spread = np.square(small.read @ small.root).sum(axis=1)
    np.testing.assert_allclose(spread[0], 0.06773, atol=1e-5)
    drawn = np.array([small.draw(random)[0] for _ in range(2000)])
    assert drawn.std() == pytest.approx(spread[0] ** 0.5, rel=0.1)
    del fits[1]["error_correlation"]
    (mapped / CAMPAIGN).write_text(json.dumps({"aggregation": fits, "crowds": crowds}))
    chances, assumed = label_chances(mapped, "test")
    assert EXACT in assumed
    assert not any(part.root.any() for _, part in chances.parts)


def test_a_rank_that_made_labels_counts_once(tmp_path: Path) -> None:
    """The same votes and ranks: MAP of the retriever, and of a system by chance."""
    queries, random = 600, np.random.RandomState(4)
    prior = -1.2 * np.log(np.arange(1.0, 7))
    truth = random.random_sample((queries, 6)) < expit(prior)
    right = random.choice([1, -1], (queries, 6, 2), p=[0.8, 0.2]).sum(axis=2)
    chances = expit(prior + logit(0.8) * np.where(truth, right, -right))
    test = {
        f"q{row}": {f"q{row}{name}": int(one) for name, one in zip("abcdef", of, strict=True)}
        for row, of in enumerate(chances > 0.5)
    }
    release = small_release(tmp_path / "demo-1", test=test)
    lines = [json.loads(line) for line in (release / "test.jsonl").read_text().splitlines()]
    for query, of_query in zip(lines, chances, strict=True):
        for candidate, chance in zip(query["candidates"], of_query.tolist(), strict=True):
            candidate["aggregation"] = {"posterior": chance, "majority": None}
    (release / "test.jsonl").write_text("".join(json.dumps(query) + "\n" for query in lines))
    # As claimed: half of the chances' log-odds, and half of what a rank adds to them.
    fit = {"offset": 0.0, "slope": 2.0, **dict.fromkeys(ERRORS, 0.0)}
    fit |= {"prior": 0.0, "rank_slope": -0.6}
    (release / CAMPAIGN).write_text(json.dumps({"aggregation": [fit]}))
    place = np.argsort(random.random_sample(truth.shape), axis=1)
    names = [list(of_query) for of_query in test.values()]
    blind = [[of[at] for at in order] for of, order in zip(names, place, strict=True)]
    drawn, assumed = label_chances(release, "test")
    assert "What the retriever's rank adds to a posterior counts once" in assumed
    assert "a vote is taken to err independently of other votes and of the ranks" in assumed
    for systems in ([names, blind], [blind]):
        worlds = Worlds(
            drawn.with_ranks(ranks_by([[one] for one in systems], test)),
            [6] * queries,
            NOTHING_HIDDEN,
            "qrc",
        )
        means = worlds.means([[one] for one in systems], test, worlds=100)[..., AP].mean(axis=0)
        ordered = [truth, np.take_along_axis(truth, place, axis=1)][-len(systems) :]
        real = [metrics(one, truth.sum(axis=1))[:, AP].mean() for one in ordered]
        np.testing.assert_allclose(means, real, atol=0.03)

    del lines[0]["candidates"][0]["aggregation"]
    (release / "test.jsonl").write_text("".join(json.dumps(query) + "\n" for query in lines))
    with pytest.raises(UserError, match="ranks have a say in them, and 1 of test carry no post"):
        label_chances(release, "test")


def test_a_query_that_a_run_lacks_says_nothing_of_its_candidates() -> None:
    labels = {"a": {"a1": 1, "a2": 0, "a3": 0}, "b": {"b1": 1, "b2": 0, "b3": 0}}
    [ranks] = ranks_by([[[["a3", "a1"], []]]], labels).T
    np.testing.assert_allclose(ranks, [2, 3, 1, 2, 2, 2])


def test_an_unsure_label_is_likelier_a_positive_the_higher_systems_rank_it() -> None:
    """By Bayes: six of ten pairs at rank 1 are positive and none of the others, by a label that is
    right four times in five."""
    queries, random = 2000, np.random.RandomState(2)
    truth = np.zeros((queries, 5), bool)
    truth[:, 0] = random.random_sample(queries) < 0.6
    label = (truth ^ (random.random_sample(truth.shape) < 0.2)).ravel()
    # As an audit without end finds them, whatever the rank.
    share = {one: truth.ravel()[label == one].mean() for one in (False, True)}
    odds = LogOdds.exact(logit(np.where(label, share[True], share[False])))
    ranks = np.tile(np.arange(1.0, 6), queries)[:, None]
    blind = LabelChances(np.full(label.size, np.nan), [(np.full(label.size, True), odds)])
    ranked = blind.with_ranks(ranks)
    drawn = np.mean([ranked.draw(random) for _ in range(50)], axis=0)
    first = ranks[:, 0] == 1
    yes = 0.6 * 0.8 / (0.6 * 0.8 + 0.4 * 0.2)
    no = 0.6 * 0.2 / (0.6 * 0.2 + 0.4 * 0.8)
    assert drawn[first & label].mean() == pytest.approx(yes, abs=0.03)
    assert drawn[first & ~label].mean() == pytest.approx(no, abs=0.03)
    assert drawn[~first].mean() < 0.02


def test_both_commands_show_the_wider_intervals_beside_the_usual_ones(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "mine.run"
    ranked = [(n, name, score) for n in range(20) for name, score in (("a", 3), ("new", 2))]
    run.write_text("".join(f"q{n} Q0 q{n}{name} 1 {score} mine\n" for n, name, score in ranked))
    report = tmp_path / "depth.json"
    rows = [[3], [], [3, 4], []]
    report.write_text(json.dumps({"first_rank": 3, "last_rank": 4, "positive_ranks": rows}))
    asked = Uncertainty(labels=True, pool_depth=report)
    options: Any = {"split": "test", "way": "qrc", "uncertain": asked}
    usual = evaluate(run, release, split="test", against="bm25", way="qrc")
    wide: Any = evaluate(run, release, against="bm25", **options)
    drawn = wide.pop("uncertain")
    assert wide == usual
    named = named_runs([f"mine={run}"], [], release=release, split="test", against="bm25")
    compared: Any = compare(named, release, against="bm25", paper=False, **options)
    assert [one["metrics"] for one in compared["uncertain"]["systems"]] == [
        one["metrics"] for one in reversed(drawn["systems"])
    ]
    ours = drawn["systems"][0]["metrics"]
    assert usual["metrics"]["MAP"] == {"value": 1, "low": 1, "high": 1}
    assert ours["P@1"]["low"] < ours["P@1"]["value"] < 1  # an expert contradicts one of twenty
    assert ours["MAP"]["value"] < ours["P@1"]["value"]  # one in four hides what it does not rank
    command = ["release", "evaluate", str(run), "--release", str(release), "--against", "bm25"]
    quorum(*command, "--label-error", "--pool-depth", str(report))
    text = capsys.readouterr().out
    assert "In this table: the mean, and the interval, of what the metrics would be if" in text
    assert "from a pool depth study of 4 queries at ranks 3 to 4" in text
    quorum("release", "compare", f"mine={run}", "--release", str(release), "--label-error")
    assert "mine less retriever" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content", ["", "[]", '{"first_rank": 3, "last_rank": 4, "positive_ranks": []}']
)
def test_a_file_that_is_no_report_of_a_pool_depth_study_is_refused(
    release: Path, tmp_path: Path, content: str
) -> None:
    report = tmp_path / "depth.json"
    report.write_text(content)
    run, asked = release / "trec" / "test.bm25.run", Uncertainty(pool_depth=report)
    with pytest.raises(UserError, match="is no report of a pool depth study: write it by"):
        evaluate(run, release, split="test", against="bm25", way="qrc", uncertain=asked)
