"""`make bench SIZE=controls` at a tiny size: every corpus, every arm; what it says is bounded."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from annotation.analytics.quality.control_leak import leak_of
from annotation.protocol.labels.rewordings import Style
from annotation.protocol.policy.policy import Policy
from benchmarks import folders
from benchmarks.control_leak import __main__ as control_leak
from benchmarks.control_leak import arms
from benchmarks.control_leak.corpora import Corpus
from tests.benchmarks.conftest import GOLD

# To the tiny encoder all questions are near.
TINY = control_leak.Size(
    campaigns=1, queries=8, pairs=240, depth=5, kept_out=2, negative_max_cosine=1.0
)


def test_each_arm_is_attacked_and_worked_on(tiny_encoder: str) -> None:
    size = replace(TINY, model=tiny_encoder)
    found = control_leak.measured(size, folders.DATA)["corpora"]
    assert set(found) == {"quora", "banking", "insurance", "medical"}
    for corpus in found.values():
        pool = corpus["arms"]["pool"]
        assert 0 <= pool["words"] <= 1
        assert pool["careful pass"] > pool["spammer pass"]
    assert set(found["banking"]["arms"]) == {"pool", "drafts", "read", "paraphrases"}
    unread, read = (found["quora"]["arms"][arm]["negative"] for arm in ("drafts", "read"))
    assert read < unread  # a wrong one is dismissed


def test_it_takes_the_folder_and_keeps_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert control_leak.main(["--data", str(tmp_path)]) == 0
    assert "the benchmark is skipped" in capsys.readouterr().out
    monkeypatch.setattr(control_leak, "measured", lambda size, data: {"read": str(data)})
    assert control_leak.main(["--data", str(folders.DATA)]) == 0
    assert str(folders.DATA) in (folders.RESULTS / "control_leak.json").read_text()


@pytest.fixture(scope="module")
def demo() -> Corpus:
    """The demo's questions, near one another by their letters."""
    meanings = [json.loads(line)["meaning"] for line in GOLD.read_text().splitlines()]
    pairs = map(json.loads, GOLD.with_name("qa_pairs.jsonl").read_text().splitlines())
    rows = [
        (pair["question"], pair["answer"], meaning)
        for pair, meaning in zip(pairs, meanings, strict=True)
    ]
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    vectors = letters.fit_transform([question for question, *_ in rows])
    return Corpus("demo", rows, vectors.toarray().astype("float32"), complete=True)


@pytest.mark.parametrize("seed", [1, 2])
def test_drafts_hide_what_the_pool_tells_and_careful_people_pass_as_often(
    demo: Corpus, seed: int
) -> None:
    """A campaign of 60 HITs."""
    campaign = arms.drawn(demo, seed, Policy(candidates_per_query=15), queries=20)
    style = Style.of(question for question, *_ in demo.rows)
    pool = arms.pool(campaign)
    drafts = arms.own(campaign, style, Counter(answer for _, answer, _ in demo.rows))
    told, hidden = (leak_of(arm.items, seed=seed) or 0 for arm in (pool, drafts))
    assert told > 0.9
    assert hidden < min(0.8, told - 0.15)
    passed = [control_leak.passed(arm, seed)["careful pass"] for arm in (pool, drafts)]
    assert abs(passed[0] - passed[1]) <= 0.05
