"""What a system is without one of its parts, and that nothing is loaded twice."""

import shutil
from pathlib import Path

import pytest

from core.errors import UserError
from retrieval.answering.ablations import (
    ANSWER,
    DATASET,
    FULL,
    NEURAL,
    PAPER,
    SELECTOR,
    WORDS,
    OpenSystems,
    System,
    by_words,
    index_named,
    untuned,
    without_answer,
    without_selector,
)
from retrieval.encoders.lazy import load_encoder
from retrieval.indexing.build import build_index
from retrieval.models import IndexVersion
from retrieval.registry.registry import register
from tests.retrieval.answering.saved import selector_folder, training_folder
from tests.retrieval.commands.weather import build
from tests.retrieval.conftest import AddPairs
from tests.retrieval.registry.trainings import trained
from tests.retrieval.training import tiny

pytestmark = pytest.mark.django_db
PAIRS = [("What is bread?", "Flour and water."), ("What is paris?", "The capital of france.")]


def tiny_index(add_pairs: AddPairs, folder: Path) -> IndexVersion:
    """By a model that nobody tuned."""
    add_pairs(PAIRS)
    model = str(tiny.retriever(folder / "retriever"))
    return build_index(model, "QQ", "cpu", encoder=load_encoder(model, "cpu"))


def test_each_switch_changes_its_part_alone() -> None:
    tuned, base, questions = (
        IndexVersion(path=path, form=form)
        for path, form in (("tuned", "QQA"), ("base", "QQA"), ("questions", "QQ"))
    )
    full = System(FULL, tuned, "selector")
    assert by_words(full) == System(NEURAL, tuned, "selector", ("bm25",))
    assert without_selector(full) == System(SELECTOR, tuned, None)
    assert untuned(full, base, "other") == System(DATASET, base, "other")
    assert without_answer(full, questions, "qq") == System(ANSWER, questions, "qq")
    assert set(PAPER) == set(WORDS)


def test_an_index_that_reads_answers_does_not_leave_them_out() -> None:
    index = IndexVersion(path="tuned", form="QQA")
    with pytest.raises(UserError, match="The index tuned reads the answers too"):
        without_answer(System(FULL, index, None), index, "qq")


def test_a_selector_that_is_not_there_cannot_be_left_out() -> None:
    with pytest.raises(UserError, match="There is no selector to leave out"):
        without_selector(System(FULL, IndexVersion(), None))


def test_an_index_is_named_by_its_path(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    first = build("QQ")
    build("QQA")
    assert index_named(first.path) == first
    with pytest.raises(UserError, match="There is no index 'magic'"):
        index_named("magic")
    add_pairs([("What is tea?", "Water, too.")])
    with pytest.raises(UserError, match="The q/a pairs have changed since the index was made"):
        index_named(first.path, fresh=True)
    assert index_named(first.path) == first


def test_what_was_tuned_does_not_stand_in_for_what_was_not(
    add_pairs: AddPairs, tmp_path: Path
) -> None:
    index = tiny_index(add_pairs, tmp_path)
    training = training_folder(tmp_path / "tuned")
    for seed in (1, 2):
        shutil.copytree(
            selector_folder(tmp_path / f"made-{seed}"),
            training / f"seed-{seed}" / "model",
            dirs_exist_ok=True,
        )
    other = str(selector_folder(tmp_path / "other"))
    full = System(FULL, index, str(training))
    opened = OpenSystems("cpu")
    opened.answerer(full)
    seed = training / "seed-1" / "model"
    for own in (training, training / "seed-2" / "model", seed):
        with pytest.raises(UserError, match="is the full system's own, or another seed of it"):
            opened.answerer(untuned(full, index, str(own)))
    opened.answerer(untuned(full, index, other))  # by the same index, whose model nobody tuned
    IndexVersion.objects.update(trained=register(trained("tuned")))
    index.refresh_from_db()
    with pytest.raises(UserError, match="is the full system's own, of the trained model tuned"):
        opened.answerer(untuned(full, index, other))


def test_index_and_selector_are_loaded_once_for_all_systems(
    add_pairs: AddPairs, tmp_path: Path
) -> None:
    index = tiny_index(add_pairs, tmp_path)
    folder = selector_folder(tmp_path / "qqa")
    full = System(FULL, index, str(folder))
    opened = OpenSystems("cpu")
    one, other, alone = map(opened.answerer, (full, by_words(full), without_selector(full)))
    assert one._searcher is other._searcher is alone._searcher
    assert one._selector is other._selector
    assert alone._selector is None
    assert one.answer("what is bread").candidates == 2
    with pytest.raises(UserError, match="is of the form QQA and reads the answers too"):
        opened.answerer(without_answer(full, index, str(folder)))
    opened.answerer(without_answer(full, index, str(selector_folder(tmp_path / "qq", "QQ"))))
