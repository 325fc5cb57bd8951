"""`make bench SIZE=controls` at a tiny size: every corpus, every arm."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import folders
from benchmarks.control_leak import __main__ as control_leak

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
    assert set(found["banking"]["arms"]) == {"pool", "drafts", "paraphrases"}


def test_it_takes_the_folder_and_keeps_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert control_leak.main(["--data", str(tmp_path)]) == 0
    assert "the benchmark is skipped" in capsys.readouterr().out
    monkeypatch.setattr(control_leak, "measured", lambda size, data: {"read": str(data)})
    assert control_leak.main(["--data", str(folders.DATA)]) == 0
    assert str(folders.DATA) in (folders.RESULTS / "control_leak.json").read_text()
