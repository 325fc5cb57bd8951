from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import UserError
from retrieval.index.versions import WITHDRAWN
from retrieval.indexing import build as build_module
from retrieval.indexing import encode
from retrieval.indexing.build import build_index
from retrieval.models import IndexVersion, QaPair
from retrieval.search.retrieve import current_index, pair_vectors
from retrieval.vectors.folder import MANIFEST, REMOVED, store_folder
from retrieval.vectors.shards import Identity
from tests.retrieval.commands.weather import KEYWORDS, PAIRS, Interrupted, build
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder

pytestmark = pytest.mark.django_db


def test_an_index_holds_every_pair_and_says_what_it_was_made_of(
    add_pairs: AddPairs, data_dir: Path
) -> None:
    add_pairs(PAIRS)
    seen: list[int] = []
    index = build(progress=seen.append)
    assert (index.model, index.form, index.pairs, index.dimension) == ("keywords", "QQA", 200, 11)
    assert sum(seen) == 200
    assert index.manifest["versions"].keys() >= {"keywords"}
    version = data_dir / "index" / "versions" / index.path
    assert sorted(path.name for path in version.iterdir()) == [MANIFEST, REMOVED, WITHDRAWN]
    assert current_index() == index


def test_an_unchanged_index_is_not_built_again(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    index = build()
    seen: list[int] = []
    assert build(progress=seen.append) == index
    assert (seen, IndexVersion.objects.count()) == ([], 1)


def test_the_index_asked_for_last_is_the_current_one(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    together = build("QQA")
    alone = build("QQ")
    assert current_index() == alone
    assert build("QQA") == together
    assert current_index() == together


def test_the_form_decides_what_is_encoded(add_pairs: AddPairs) -> None:
    [pair] = add_pairs([("What is rain?", "A kind of snow.")])
    build("QQ")
    [alone] = pair_vectors([pair.pk])
    build("QQA")
    [together] = pair_vectors([pair.pk])
    np.testing.assert_array_equal(alone, KEYWORDS.encode_questions(["rain"])[0])
    np.testing.assert_array_equal(together, KEYWORDS.encode_questions(["rain snow"])[0])


def test_an_unknown_form_and_an_empty_database_are_refused() -> None:
    with pytest.raises(UserError, match="Unknown form 'AQ': choose QQA or QQ"):
        build("AQ")
    with pytest.raises(UserError, match=r"holds no q/a pairs: add some by `quorum corpus import"):
        build()


@pytest.mark.parametrize("where", ["model", "setting"])
@pytest.mark.parametrize("name", ["/m" * 151, "/m\udcff"])
def test_a_model_whose_name_cannot_be_recorded_is_refused_before_it_encodes(
    add_pairs: AddPairs, settings: Any, where: str, name: str
) -> None:
    add_pairs(PAIRS)
    encoder = KeywordEncoder("rain")
    if where == "model":
        encoder.name = name
    else:
        settings.ENCODER_MODEL = name
    seen: list[int] = []
    with pytest.raises(UserError, match="at most 300 characters in UTF-8: move it to a shorter"):
        build_index("unused", "QQ", progress=seen.append, encoder=encoder)
    assert not seen
    assert not IndexVersion.objects.exists()


def test_more_pairs_than_one_shard_are_all_encoded(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "SHARD_PAIRS", 64)
    count = 2 * 64 + 1
    pairs = add_pairs((f"What is rain {n}?", "Snow.") for n in range(count))
    assert build().pairs == count
    assert pair_vectors([pairs[-1].pk, pairs[0].pk]).shape == (2, 11)


def test_a_build_that_fails_leaves_nothing_and_the_next_one_works(
    add_pairs: AddPairs, data_dir: Path
) -> None:
    add_pairs(PAIRS)
    old = build("QQ")

    def stop(increment: int) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        build(progress=stop)
    assert IndexVersion.objects.count() == 1
    assert {p.name for p in (data_dir / "index" / "versions").iterdir()} == {old.path}
    assert current_index() == old
    assert build().form == "QQA"


def test_pairs_that_change_during_a_build_are_noticed(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_pairs(PAIRS)

    monkeypatch.setattr(encode, "SHARD_PAIRS", 64)

    def meddle(increment: int) -> None:
        QaPair.objects.order_by("pair_key").last().delete()  # type: ignore[union-attr]

    with pytest.raises(UserError, match="changed while the index was made"):
        build(progress=meddle)
    assert not IndexVersion.objects.exists()


def test_two_builds_at_once_are_refused(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)

    def build_too(increment: int) -> None:
        build("QQ")

    with pytest.raises(UserError, match="is being built already"):
        build(progress=build_too)


# noticing change


def test_without_an_index_the_user_is_told_to_make_one() -> None:
    with pytest.raises(UserError, match=r"There is no index yet: run `quorum index build`"):
        current_index()


def test_pairs_added_or_removed_are_noticed(add_pairs: AddPairs) -> None:
    added = add_pairs(PAIRS)
    build()
    [new] = add_pairs([("What is new?", "This.")])
    with pytest.raises(UserError, match=r"\(200 then, 201 now\): run `quorum index build"):
        current_index(fresh=True)
    assert current_index().pairs == 200
    new.delete()
    current_index(fresh=True)
    added[0].delete()
    add_pairs([("What is new?", "That.")], source="other")
    with pytest.raises(UserError, match=r"\(200 then, 200 now\)"):
        current_index(fresh=True)


def test_a_changed_setting_is_noticed_and_an_explicit_model_is_not_a_change(
    add_pairs: AddPairs, settings: Any
) -> None:
    add_pairs(PAIRS)
    settings.ENCODER_MODEL = "one"
    build()  # of a model that is not the setting's
    current_index()
    settings.ENCODER_MODEL = "two"
    with pytest.raises(UserError, match="encoder setting changed from one to two"):
        current_index()
    build()
    current_index()


def file_of(kind: str, index: IndexVersion, data_dir: Path) -> Path:
    if kind in (MANIFEST, REMOVED):
        return data_dir / "index" / "versions" / index.path / kind
    [shard] = index.manifest["shards"]
    folder = store_folder(data_dir / "index", Identity(**index.manifest["store"]))
    return folder / f"{shard['name']}.{kind}"


@pytest.mark.parametrize("kind", [MANIFEST, REMOVED, "keys.npy", "vectors.npy"])
@pytest.mark.parametrize("damage", ["missing", "truncated", "flipped", "foreign"])
def test_a_damaged_file_is_refused_by_name_and_built_again(
    add_pairs: AddPairs, data_dir: Path, kind: str, damage: str
) -> None:
    add_pairs(PAIRS)
    index = build()
    path = file_of(kind, index, data_dir)
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(content[:-1])
    elif damage == "flipped":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    else:
        other = build("QQ")
        path.write_bytes(file_of(kind, other, data_dir).read_bytes())
        IndexVersion.objects.filter(pk=other.pk).delete()
        if path.read_bytes() == content:
            return  # both forms hold the same pairs: their keys are the same file
    with pytest.raises(UserError) as refused:
        current_index()
    assert path.name in str(refused.value)
    assert "run `quorum index build --model keywords --form QQA`" in str(refused.value)
    assert build() == index
    assert current_index() == index


def test_an_index_of_an_older_quorum_is_made_again(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    index = build()
    older = {"model": index.model, "form": index.form, "versions": {}, "files": {}}
    index.manifest = older | {"model_fingerprint": KEYWORDS.fingerprint}
    index.newest_pair, index.path = 0, "qqa-older"
    index.save()
    with pytest.raises(
        UserError, match=r"older version of Quorum: run `quorum index build --model k"
    ):
        current_index()
    assert build() == current_index() != index


def test_a_missing_folder_is_noticed(add_pairs: AddPairs, settings: Any, tmp_path: Path) -> None:
    add_pairs(PAIRS)
    build()
    settings.INDEX_DIR = tmp_path / "elsewhere"
    with pytest.raises(UserError, match=r"manifest\.json is missing"):
        current_index()


def test_shards_that_do_not_arrive_leave_no_index_and_the_next_build_makes_them(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_pairs(PAIRS)
    monkeypatch.setattr(encode, "SHARD_PAIRS", 64)
    whole = encode.encode_missing
    with monkeypatch.context() as lossy:
        lossy.setattr(build_module, "encode_missing", lambda *given: islice(whole(*given), 2))
        with pytest.raises(UserError, match=r"^72 pairs have no vector after the encoding"):
            build()
    assert not IndexVersion.objects.exists()
    assert build().pairs == 200
