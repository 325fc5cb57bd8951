"""One training that is stopped or damaged where it hurts most: the best epoch's weights come out of
it, or one sentence does."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from sentence_transformers import CrossEncoderTrainingArguments, SentenceTransformer

from core.errors import UserError
from retrieval.encoders.tokens import tokenised
from retrieval.training.loop import checkpoints
from retrieval.training.loop import fit as module
from retrieval.training.loop.out_of_memory import enough_memory
from retrieval.training.recipes.recipe import Settings, parse_recipe
from tests.retrieval.training.alone import fit_alone, setup
from tests.retrieval.training.killing import Killed
from tests.retrieval.training.loop.test_fit import SELECTOR, letters, plan, trained

PAIRS = [("b", ["b", "c"]), ("x", ["y", "z"])]
WEIGHTS, STATE = "model.safetensors", "trainer_state.json"


def killed_at_save(
    number: int,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[[], object],
    *,
    spoil: Callable[[Path], object] | None = None,
) -> None:
    """After that checkpoint was marked whole; with `spoil` it is not killed, but spoilt."""
    saves = 0
    mark = checkpoints.mark_whole

    def marked(checkpoint: Path) -> None:
        nonlocal saves
        mark(checkpoint)
        saves += 1
        if saves == number:
            if spoil is None:
                raise Killed
            spoil(checkpoint)

    with monkeypatch.context() as patched:
        patched.setattr(module, "mark_whole", marked)
        if spoil is not None:
            run()
            return
        with pytest.raises(Killed):
            run()


def by_lot() -> tuple[Dataset, Dataset]:
    """Nothing can be learned, so that patience ends it."""
    return letters(64, seed=1, swapped=True), letters(64, seed=9)


def test_killed_after_its_last_epoch_it_trains_no_other(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, wanted = by_lot(), plan(5e-3, epochs=40)
    undisturbed = trained(bare, tmp_path / "a", *rows, wanted)
    killed_at_save(
        undisturbed.epochs,
        monkeypatch,
        lambda: trained(bare, tmp_path / "b", *rows, wanted),
    )
    steps: list[int] = []
    resumed = trained(bare, tmp_path / "b", *rows, wanted, progress=steps.append)
    assert steps == []
    assert resumed.dev_losses == undisturbed.dev_losses
    assert weights(resumed.model) == weights(undisturbed.model)


def test_killed_after_the_last_epoch_of_all_it_trains_no_other(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, wanted = (letters(64, seed=1), letters(64, seed=2)), plan(epochs=2)
    undisturbed = trained(bare, tmp_path / "a", *rows, wanted)
    killed_at_save(2, monkeypatch, lambda: trained(bare, tmp_path / "b", *rows, wanted))
    resumed = trained(bare, tmp_path / "b", *rows, wanted)
    assert resumed.dev_losses == undisturbed.dev_losses
    assert weights(resumed.model) == weights(undisturbed.model)


def test_a_best_epoch_that_cannot_be_read_is_not_replaced_by_the_last_one(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(checkpoint: Path) -> None:
        for path in checkpoint.parent.glob(f"checkpoint-*/{WEIGHTS}"):
            path.write_bytes(b"no weights")

    rows = (letters(64, seed=1), letters(64, seed=2))
    with pytest.raises(UserError, match=r"^The checkpoint .*checkpoint-\d+ is damaged .*: remove"):
        killed_at_save(
            2,
            monkeypatch,
            lambda: trained(bare, tmp_path / "a", *rows, plan(epochs=2)),
            spoil=spoil,
        )


def test_a_checkpoint_whose_bytes_are_others_is_told_by_name(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a power cut leaves them: of the right length, and empty."""
    rows, wanted = (letters(64, seed=1), letters(64, seed=2)), plan(epochs=3)
    killed_at_save(2, monkeypatch, lambda: trained(bare, tmp_path / "a", *rows, wanted))
    for name in (WEIGHTS, STATE, "optimizer.pt", "scheduler.pt", "rng_state.pth"):
        path = tmp_path / "a" / "checkpoint-4" / name
        whole = path.read_bytes()
        path.write_bytes(bytes(len(whole)))
        with pytest.raises(UserError) as refusal:
            trained(bare, tmp_path / "a", *rows, wanted)
        assert str(refusal.value).startswith(f"The checkpoint {path.parent} is damaged ("), name
        path.write_bytes(whole)  # it is still there: nothing was removed


def test_a_checkpoint_that_was_cut_short_is_not_gone_on_with(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, wanted = (letters(64, seed=1), letters(64, seed=2)), plan(epochs=2)
    undisturbed = trained(bare, tmp_path / "a", *rows, wanted)
    folder = tmp_path / "b"
    killed_at_save(1, monkeypatch, lambda: trained(bare, folder, *rows, wanted))
    shutil.copytree(folder, tmp_path / "killed")
    halves = [("whole", Path.unlink)] + [
        (name, spoil)
        for name in (WEIGHTS, STATE, "optimizer.pt")
        for spoil in (lambda path: path.write_bytes(b"{"), Path.unlink)
    ]
    for name, spoil in halves:
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "killed", folder)
        spoil(folder / "checkpoint-2" / name)
        steps: list[int] = []
        resumed = trained(bare, folder, *rows, wanted, progress=steps.append)
        assert len(steps) == 4, name  # from the beginning
        assert weights(resumed.model) == weights(undisturbed.model)


def test_an_epoch_whose_best_one_is_lost_is_not_gone_on_with(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could not end with the best one's weights."""
    rows, wanted = by_lot(), plan(5e-3, epochs=40)
    undisturbed = trained(bare, tmp_path / "a", *rows, wanted)
    folder = tmp_path / "b"
    last = undisturbed.epochs - 1  # one epoch worse than the best
    killed_at_save(last, monkeypatch, lambda: trained(bare, folder, *rows, wanted))
    best = folder / f"checkpoint-{2 * (last - 1)}"
    (best / WEIGHTS).unlink()
    steps: list[int] = []
    resumed = trained(bare, folder, *rows, wanted, progress=steps.append)
    assert len(steps) == 2 * undisturbed.epochs
    assert weights(resumed.model) == weights(undisturbed.model)


class Several(CrossEncoderTrainingArguments):
    """As on a machine with two GPUs."""

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[no-untyped-call]
        self._n_gpu = 2


def test_of_several_gpus_it_takes_one(bare: Path, tmp_path: Path) -> None:
    made = replace(setup(parse_recipe(SELECTOR), bare), arguments=Several)
    steps: list[int] = []
    rows = letters(64, seed=1), letters(32, seed=2)
    fit_alone(made, *rows, plan(epochs=1), tmp_path / "a", progress=steps.append)
    assert len(steps) == 2  # batches of 32, as the plan says


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        RuntimeError("CUDA error: out of memory"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ],
)
def test_whatever_says_that_memory_ended_is_told_alike(error: Exception) -> None:
    with (
        pytest.raises(UserError, match=r"^There is not enough memory for batches of 32 inputs"),
        enough_memory(Settings(1e-3, 32, 24)),
    ):
        raise error


def test_another_error_is_not_taken_for_want_of_memory() -> None:
    with pytest.raises(RuntimeError, match="shapes"), enough_memory(Settings(1e-3, 32, 24)):
        raise RuntimeError("shapes do not match")


@pytest.mark.parametrize("prompt", ["how do i ", "", "12"])
def test_a_base_with_a_prompt_learns_what_it_will_encode(
    tmp_path: Path, tiny_retriever: Path, prompt: str
) -> None:
    model = SentenceTransformer(
        str(tiny_retriever),
        prompts={"usual": prompt, "other": "tea "},
        default_prompt_name="usual",
        device="cpu",
    )
    model.save_pretrained(str(tmp_path / "base"), create_model_card=False)
    recipe = parse_recipe({"kind": "retriever", "form": "QQ", "base": "tiny"})
    made = setup(recipe, tmp_path / "base")
    read: set[str | None] = set()
    rows = Dataset.from_dict({"anchor": ["a", "b", "c", "d"], "positive": ["e", "f", "g", "h"]})

    def spied() -> Any:
        found = made.make_model()
        preprocess = found.preprocess

        def report(inputs: Any, prompt: str | None = None, **others: Any) -> Any:
            read.add(prompt or None)
            return preprocess(inputs, prompt=prompt, **others)

        found.preprocess = report
        return found

    fitted = fit_alone(
        replace(made, make_model=spied), rows, rows, plan(epochs=1, batch=2), tmp_path / "a"
    )
    assert read == {prompt or None}
    read.clear()
    tokenised(fitted.model, ["a"])
    assert read == {prompt or None}


def weights(model: Any) -> dict[str, list[float]]:
    return {name: one.flatten().tolist() for name, one in model.state_dict().items()}
