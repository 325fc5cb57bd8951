"""`make bench-gpu` without a GPU: each piece at a small size on the CPU, and how pieces are run."""

from collections.abc import Mapping
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest
import torch

from benchmarks import folders, gpu
from benchmarks.models import reranking
from benchmarks.retrieval import faiss_gpu, parts
from benchmarks.retrieval.gpu_search import Scale
from tests.support.gpu_of_faiss import stand_in


def tiny(name: str, model: str, **options: Any) -> dict[str, Any]:
    """On the CPU."""
    piece = gpu.PIECES[name]
    on_cpu = {"device": "cpu"} if "device" in piece.options else {}
    return parts.run(piece.module, "small", {**piece.options, **on_cpu, "model": model, **options})


def test_the_search_finds_what_the_cpu_finds(tiny_encoder: str) -> None:
    assert all(one["same_as_exact"] for one in tiny("search", tiny_encoder)["measured"])


# A CPU does not compute in fp16.
@pytest.mark.parametrize(("precision", "lost"), [("fp32", 1e-6), ("bf16", 0.05)])
def test_encoding_is_compared_with_the_cpu(precision: str, lost: float, tiny_encoder: str) -> None:
    found = tiny(f"encoding_{precision}", tiny_encoder, texts=8, rounds=1, square=32)
    for kind in ("questions", "pairs"):
        assert found[kind]["largest_difference_from_fp32_on_cpu"] < lost
        assert found[kind]["ways"]["ours"]["texts_per_second"] > 0


def test_reranking_is_compared_with_the_cpu(
    tiny_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranking, "LONGEST", 32)  # the small model takes no 256 tokens
    found = tiny("reranking", tiny_encoder)
    assert max(found["largest_difference_from_cpu"].values()) < 1e-6
    assert min(found["select_500_ms"].values()) > 0


def test_training_stands_beside_a_plain_script(tiny_encoder: str) -> None:
    assert len(tiny("training", tiny_encoder)["ways"]) == 5


def test_indexes_of_faiss_on_a_gpu_or_on_a_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    found = faiss_gpu.measured(Scale(900, 6), 32)
    assert found["excluded"] == 100
    assert found["ivf_gpu_recall"]["value"] > 0.5
    assert set(found["searches"]) == {
        "gpu, exact",
        "ivf-gpu",
        "FAISS, the lists alone",
        "FAISS, flat, half precision",
    }


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_the_command_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main([]) == 2
    assert capsys.readouterr().err == "make bench-gpu needs a GPU: torch finds none here.\n"


def test_without_the_gpu_of_faiss_its_indexes_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faiss.get_num_gpus", lambda: 0)
    assert "EXTRA=gpu" in faiss_gpu.run("full", dimension="384")["skipped"]


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every piece is done at once, and that of reranking is killed."""

    def apart(module: str, size: str, options: Mapping[str, str]) -> dict[str, Any]:
        if module == "models.reranking":
            raise BrokenProcessPool("terminated abruptly")
        return {"size": size}

    monkeypatch.setattr(parts, "apart", apart)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)


@pytest.mark.usefixtures("answered")
def test_each_piece_is_kept_in_a_file_of_its_own_and_a_killed_one_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert gpu.main([]) == 1
    assert len(list(folders.RESULTS.iterdir())) == len(gpu.PIECES) - 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "bench: run ONLY=reranking again: an error ended it."
    )


@pytest.mark.usefixtures("answered")
def test_pieces_are_run_by_name() -> None:
    assert gpu.main(["--only", "faiss_768,encoding_fp16"]) == 0
    assert {path.name for path in folders.RESULTS.iterdir()} == {
        "retrieval_encoding_cuda_fp16.json",
        "retrieval_faiss_gpu_768.json",
    }


def test_an_unknown_piece_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        gpu.main(["--only", "search,teleport"])
    assert "there is no part 'teleport'" in capsys.readouterr().err


def test_help_lists_the_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        gpu.main(["--help"])
    text = capsys.readouterr().out
    assert all(f"{name} " in text for name in gpu.PIECES)
