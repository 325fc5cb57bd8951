"""`quorum model train`: what it refuses at once, and what a kill leaves behind."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from huggingface_hub import constants

from core.command import Error
from core.errors import UserError
from retrieval.registry.registry import digest_of_folder
from retrieval.training import run
from retrieval.training.loop import grid
from retrieval.training.preflight import Inputs, TrainingRequest, check_base, checked_inputs
from retrieval.training.recipes.recipe import read_recipe
from tests.retrieval.training import tiny
from tests.retrieval.training.releases import release
from tests.retrieval.training.test_train_command import RETRIEVER, SELECTOR, recipe, train

pytestmark = pytest.mark.django_db


def short(folder: Path, base: Path, **changed: object) -> Path:
    path = recipe(folder, SELECTOR, form="QQ", epochs=1, seeds=1, base=base)
    return with_changes(path, **changed)


def with_changes(path: Path, **changed: object) -> Path:
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **changed}))
    return path


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"max_length": [16, 65]}, "reads at most 64 tokens, not 65"),
        ({"base": "no-such-model"}, "The model 'no-such-model' cannot be loaded"),
    ],
)
def test_a_base_that_will_not_do_leaves_no_folder_behind(
    tmp_path: Path, bare: Path, data_dir: Path, changed: dict[str, object], expected: str
) -> None:
    folder = release(tmp_path / "demo-1")
    with pytest.raises(Error, match=expected):
        train(with_changes(short(tmp_path, bare), **changed), "--release", folder)
    assert not (data_dir / "models").exists()
    # The corrected recipe, under the same name.
    assert train(short(tmp_path, bare, max_length=16), "--release", folder)["name"] == "recipe"


def test_a_base_that_was_replaced_is_another_order(tmp_path: Path, data_dir: Path) -> None:
    base = tiny.checkpoint(tmp_path / "base")
    folder = release(tmp_path / "demo-1")
    path = short(tmp_path, base)
    first = train(path, "--release", folder)
    assert first["base_sha256"] == digest_of_folder(base)
    assert train(path, "--release", folder)["unchanged"] is True
    shutil.rmtree(base)
    tiny.checkpoint(base, seed=8)
    with pytest.raises(Error, match="holds a model of another base: nothing was overwritten"):
        train(path, "--release", folder)
    place = data_dir / "models" / "recipe"
    (place / "training.json").unlink()
    with pytest.raises(Error, match="holds an unfinished training of another base: nothing"):
        train(path, "--release", folder)


def test_a_training_that_tells_no_digest_of_its_base_is_known_by_the_rest(
    tmp_path: Path, bare: Path, data_dir: Path
) -> None:
    """Those of before."""
    folder = release(tmp_path / "demo-1")
    path = short(tmp_path, bare)
    train(path, "--release", folder)
    place = data_dir / "models" / "recipe" / "training.json"
    report = json.loads(place.read_text())
    del report["base_sha256"]
    place.write_text(json.dumps(report))
    assert train(path, "--release", folder)["unchanged"] is True


def test_a_base_in_the_hubs_cache_is_known_by_its_files(
    tmp_path: Path, bare: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the hub's client lays it out: a snapshot of links."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    cache = tmp_path / "hub" / "models--quorum--tiny"
    snapshot = cache / "snapshots" / ("a" * 40)
    for part in ("blobs", "refs", f"snapshots/{'a' * 40}"):
        (cache / part).mkdir(parents=True)
    (cache / "refs" / "main").write_text("a" * 40)
    for path in bare.iterdir():
        shutil.copy(path, cache / "blobs" / path.name)
        (snapshot / path.name).symlink_to(cache / "blobs" / path.name)
    base = check_base(read_recipe(short(tmp_path, Path("quorum/tiny"))))
    assert (base.name, base.sha256) == ("quorum/tiny", digest_of_folder(bare))


def test_an_order_that_was_half_written_is_written_again(
    tmp_path: Path, bare: Path, data_dir: Path
) -> None:
    place = data_dir / "models" / "recipe"
    place.mkdir(parents=True)
    (place / ".order.json").write_text('{"rec')
    train(short(tmp_path, bare), "--release", release(tmp_path / "demo-1"))
    assert (place / "training.json").is_file()
    assert not (place / ".order.json").exists()


def test_what_was_not_cleared_away_is_when_it_is_asked_for_again(
    tmp_path: Path, bare: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between training.json and the clearing away."""
    folder = release(tmp_path / "demo-1")
    path = short(tmp_path, bare, learning_rate=[1e-3, 1e-9])
    with monkeypatch.context() as killed:
        killed.setattr(run, "_tidy", lambda *_: None)
        train(path, "--release", folder)
    place = data_dir / "models" / "recipe"
    assert {one.name for one in place.glob("grid-*")} == {"grid-1", "grid-2"}
    again = train(path, "--release", folder)
    assert again["unchanged"] is True
    kept = Path(again["trainings"][0]["model"]).parts[0]
    assert {one.name for one in place.glob("grid-*")} == {kept}


def test_a_note_of_a_finished_model_that_cannot_be_read_is_as_none(
    tmp_path: Path, bare: Path, data_dir: Path
) -> None:
    folder = release(tmp_path / "demo-1")
    path = short(tmp_path, bare)
    first = train(path, "--release", folder)
    place = data_dir / "models" / "recipe"
    for text in ("", '{"order": {}', "[]", "{}"):
        (place / "training.json").unlink()
        (place / "grid-1" / grid.FITTED).write_text(text)
        assert train(path, "--release", folder)["trainings"] == first["trainings"]


@pytest.fixture
def ranking(tmp_path: Path, tiny_retriever: Path) -> Path:
    return recipe(
        tmp_path, RETRIEVER, form="QQ", base=tiny_retriever, loss="multiple-negatives-ranking"
    )


def looked(path: Path, release: Path) -> Inputs:
    return checked_inputs(TrainingRequest(read_recipe(path), release, "mine", None, "cpu"))


def test_the_batch_size_advised_leaves_every_batch_full_enough(
    tmp_path: Path, ranking: Path
) -> None:
    folder = release(tmp_path / "demo-1", train=20)
    with pytest.raises(UserError) as refused:
        looked(with_changes(ranking, batch_size=[8, 64]), folder)
    advice = re.search(
        r"has ([\d,]+) that can .* not 64; up to ([\d,]+), batches are full", str(refused.value)
    )
    assert advice is not None
    queries, advised = map(int, advice.groups())
    assert advised == queries // 2
    assert looked(with_changes(ranking, batch_size=advised), folder).device == "cpu"


def test_one_query_is_too_few_to_tell_queries_from_each_other(
    tmp_path: Path, ranking: Path
) -> None:
    with pytest.raises(UserError, match="has one query that can be learned from"):
        looked(ranking, release(tmp_path / "demo-1", train=1))
