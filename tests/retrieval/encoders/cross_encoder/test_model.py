"""Which checkpoints a selector can be made of."""

import json
import shutil
from pathlib import Path

import pytest
from transformers import CanineConfig, CanineModel, CanineTokenizer

from core.errors import UserError
from retrieval.encoders.cross_encoder.load import new_selector


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        (["sep_token"], "has no separator: a selector cannot be trained from it"),
        (["pad_token"], "has no padding token: a selector cannot be trained from it"),
        (["sep_token", "pad_token"], "has no separator and no padding token: "),  # as GPT-2's
    ],
)
def test_a_base_whose_tokenizer_lacks_a_piece_is_refused(
    bare: Path, tmp_path: Path, without: list[str], expected: str
) -> None:
    folder = tmp_path / "base"
    shutil.copytree(bare, folder)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({name: config[name] for name in config if name not in without}))
    with pytest.raises(UserError) as refused:
        new_selector(str(folder), "cpu")
    assert str(refused.value).startswith(f"The tokenizer of {folder} {expected}")


def test_a_base_whose_tokenizer_gives_no_pieces_is_refused(tmp_path: Path) -> None:
    config = CanineConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_hash_buckets=64,
    )
    CanineModel(config).save_pretrained(tmp_path)
    CanineTokenizer().save_pretrained(tmp_path)
    with pytest.raises(
        UserError, match="has no fast version: a selector cannot be trained from it"
    ):
        new_selector(str(tmp_path), "cpu")
