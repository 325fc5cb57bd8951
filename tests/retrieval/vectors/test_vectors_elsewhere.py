"""Machines that share a database and QUORUM_VECTORS, but no disk."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pytest_django import Settings

from config.settings import _storage_at
from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.index.versions import current_index, folder_of
from retrieval.indexing.build import build_index
from retrieval.indexing.plan import BuildOptions
from retrieval.models import IndexVersion
from retrieval.vectors.shards import files_of
from retrieval.vectors.types import Vectors
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder

pytestmark = pytest.mark.django_db

PAIRS = [(f"Is rain {n} wet?", "Yes.") for n in range(20)]


class CountingEncoder(KeywordEncoder):
    texts = 0

    def encode_questions(
        self, questions: Sequence[str], progress: Progress = no_progress
    ) -> Vectors:
        self.texts += len(questions)
        return super().encode_questions(questions, progress)


@pytest.fixture(autouse=True)
def shared_place(tmp_path: Path, settings: Settings) -> Path:
    place = tmp_path / "shared"
    vectors = _storage_at("QUORUM_VECTORS", str(place))
    settings.STORAGES = settings.STORAGES | {"vectors": vectors}
    return place


@pytest.fixture
def encoder() -> CountingEncoder:
    return CountingEncoder("rain snow")


def build(encoder: KeywordEncoder) -> IndexVersion:
    return build_index(
        "unused", "QQ", "cpu", encoder=encoder, options=BuildOptions(kind="exact", store="float32")
    )


def go_to(machine: str, settings: Settings, tmp_path: Path) -> None:
    settings.INDEX_DIR = tmp_path / machine


def test_what_one_machine_has_encoded_no_other_encodes(
    add_pairs: AddPairs, encoder: CountingEncoder, settings: Settings, tmp_path: Path
) -> None:
    add_pairs(PAIRS)
    go_to("first", settings, tmp_path)
    version = build(encoder)
    assert encoder.texts == 20
    go_to("second", settings, tmp_path)
    with pytest.raises(UserError, match=f"{folder_of(version)}/manifest.json is missing"):
        current_index()
    assert build(encoder).manifest["shards"] == version.manifest["shards"]
    assert encoder.texts == 20
    add_pairs([("Is snow wet?", "Yes.")])
    build(encoder)
    assert encoder.texts == 21


def test_shards_lost_here_come_back_by_themselves(
    add_pairs: AddPairs, encoder: CountingEncoder, settings: Settings, tmp_path: Path
) -> None:
    add_pairs(PAIRS)
    go_to("first", settings, tmp_path)
    version = build(encoder)
    [shard] = version.manifest["shards"]
    for name in files_of(shard["name"]):
        [path] = (tmp_path / "first").rglob(name)
        path.unlink()
    assert current_index() == version
    [path] = (tmp_path / "first").rglob(files_of(shard["name"])[1])
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(UserError, match="is not the one recorded"):
        current_index()
    assert build(encoder) == version
    assert encoder.texts == 20
    assert current_index() == version
