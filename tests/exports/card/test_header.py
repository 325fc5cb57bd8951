"""The card's header is what `datasets` and the Hub load a release by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from exports.card.header import header
from exports.card.readme import write_card
from exports.layout.files import CARD
from exports.splits.splits import SPLITS
from tests.exports.card.releases import ready

TABLES = ["judgments", "assignments", "controls"]
FACTS: dict[str, Any] = {"campaign": "demo", "sources": [], "policy": {}}


def parsed(folder: Path, facts: dict[str, Any] = FACTS, triplets: int = 10) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load(header(folder, facts, triplets))
    return values


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)


def load(folder: Path, cache: Path, name: str | None = None) -> Any:
    from datasets import load_dataset  # noqa: PLC0415

    return load_dataset(str(folder), name, cache_dir=str(cache))


@pytest.mark.usefixtures("offline")
def test_load_dataset_gives_the_splits_by_the_folder_alone(tmp_path: Path) -> None:
    folder = ready(tmp_path / "demo-1")
    write_card(folder)
    loaded = load(folder, tmp_path / "cache")
    assert list(loaded) == list(SPLITS)
    for split in SPLITS:
        table = pq.read_table(folder / "parquet" / f"{split}.parquet")
        assert loaded[split].to_list() == table.to_pylist()


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("name", TABLES)
def test_load_dataset_gives_each_table_of_the_annotators(tmp_path: Path, name: str) -> None:
    folder = ready(tmp_path / "demo-1")
    write_card(folder)
    loaded = load(folder, tmp_path / "cache", name)
    assert list(loaded) == ["campaign"]
    assert loaded["campaign"].to_list() == pq.read_table(folder / f"{name}.parquet").to_pylist()


@pytest.mark.usefixtures("offline")
def test_an_empty_split_does_not_keep_the_others_from_loading(tmp_path: Path) -> None:
    folder = ready(tmp_path / "demo-1", empty=("dev", "test"))
    write_card(folder)
    loaded = load(folder, tmp_path / "cache")
    assert list(loaded) == ["train"]
    assert loaded["train"].num_rows > 0


@pytest.mark.usefixtures("offline")
def test_without_the_judgments_their_tables_are_no_configurations(tmp_path: Path) -> None:
    from datasets import get_dataset_config_names  # noqa: PLC0415

    options = {"partial": False, "split": "clusters", "judgments": False}
    folder = ready(tmp_path / "demo-1", release={"options": options})
    write_card(folder)
    assert get_dataset_config_names(str(folder)) == ["default"]
    assert list(load(folder, tmp_path / "cache")) == list(SPLITS)


@pytest.mark.parametrize(
    ("triplets", "size"),
    [
        (0, "n<1K"),
        (999, "n<1K"),
        (1_000, "1K<n<10K"),
        (456_330, "100K<n<1M"),
        (10**8, "100M<n<1B"),
    ],
)
def test_the_size_is_the_hubs_own_step(tmp_path: Path, triplets: int, size: str) -> None:
    assert parsed(tmp_path, triplets=triplets)["size_categories"] == [size]


def test_the_language_that_nobody_told_us_is_not_claimed(tmp_path: Path) -> None:
    assert "language" not in parsed(tmp_path)


@pytest.mark.parametrize(
    "text",
    ["a: b", "--- \n...\n- x", "'\"{}[]|>", "!!python/object:os.system", "# x\n\u2028\x00", "no"],
)
def test_a_hostile_licence_stays_one_text_of_the_header(tmp_path: Path, text: str) -> None:
    facts = FACTS | {"sources": [{"source": "x", "license": text, "pairs": 1}]}
    written = header(tmp_path, facts, 10)
    values = yaml.safe_load(written)
    assert values["license"] == "other"
    assert values["license_details"] == " ".join(text.replace("\x00", " ").split())
    assert "\n---" not in written


def test_the_header_ends_where_the_body_begins(tmp_path: Path) -> None:
    hostile = [{"source": "x\n---\n", "license": "---\nlanguage: en\n---", "pairs": 1}]
    folder = ready(tmp_path / "demo-1", campaign={"sources": hostile})
    write_card(folder)
    begin, middle, body = (folder / CARD).read_text(encoding="utf-8").split("---\n", 2)
    assert begin == ""
    assert "language" not in yaml.safe_load(middle)
    assert body.startswith("\n# demo, release 1\n")
