"""Models small enough to be made and trained in a test: a BERT of two layers, words as tokens.

Imports inside functions: most tests that are collected never make one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Words that every tiny model knows.
SENTENCES = (
    "how do i bake bread make a loaf of what is the capital france paris flour boil egg water ten "
    "minutes red blue green yes no fix flat tyre patch it tea steep [ ] sep"
)
WORDS = (*LETTERS, *SENTENCES.split())


def tokenizer() -> PreTrainedTokenizerFast:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors  # noqa: PLC0415
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    words = dict.fromkeys([*SPECIAL, *WORDS])
    vocabulary = {word: number for number, word in enumerate(words)}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def checkpoint(folder: Path, *, seed: int = 7, heads: int = 2, width: int = 32) -> Path:
    """A bare encoder, such as a selector starts from."""
    import torch  # noqa: PLC0415
    from transformers import BertConfig, BertModel  # noqa: PLC0415

    torch.manual_seed(seed)
    words = tokenizer()
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=width,
        num_hidden_layers=2,
        num_attention_heads=heads,
        intermediate_size=2 * width,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def retriever(folder: Path, *, seed: int = 7) -> Path:
    """A sentence-transformers model over it."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from sentence_transformers.base.modules import Transformer  # noqa: PLC0415
    from sentence_transformers.sentence_transformer.modules import (  # noqa: PLC0415
        Normalize,
        Pooling,
    )

    bare = checkpoint(folder.with_name(f"{folder.name}-bare"), seed=seed)
    encoder = Transformer(str(bare), max_seq_length=64)
    model = SentenceTransformer(
        modules=[encoder, Pooling(encoder.get_embedding_dimension()), Normalize()], device="cpu"
    )
    model.save_pretrained(str(folder), create_model_card=False)
    return folder


def cross_encoder(folder: Path, *, classes: int = 1, seed: int = 7) -> Path:
    """As transformers writes what classifies: nothing of ours is recorded with it."""
    import torch  # noqa: PLC0415
    from transformers import BertForSequenceClassification  # noqa: PLC0415

    bare = checkpoint(folder.with_name(f"{folder.name}-bare"), seed=seed)
    torch.manual_seed(seed)
    model = BertForSequenceClassification.from_pretrained(bare, num_labels=classes)
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
