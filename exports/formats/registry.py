"""The formats that a release holds beside its JSONL, in the order in which a page shows them."""

from exports.formats.format import Format
from exports.formats.parquet import PARQUET
from exports.formats.sentence_transformers import SENTENCE_TRANSFORMERS
from exports.formats.trec import TREC
from exports.formats.tsv import TSV

FORMATS: tuple[Format, ...] = (PARQUET, TSV, TREC, SENTENCE_TRANSFORMERS)
