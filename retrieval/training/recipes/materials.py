"""What a model can learn from beside a release: files of one row an example, by their kind. Pure.

    pairs      question1, question2, is_duplicate (or label), and maybe answer2
    positives  anchor, positive, and maybe negative
    topics     question, topic
    sentences  question, sentence, label
    spans      left, right, label
    sts        sentence1, sentence2, score from 0 to 5
    ranks      query, pairs (a list of [question, answer]), label
    release    the folder of another release, whose dev tells when to stop

One rule holds for all: what has a question of the dev or test of any release, or of a set that the
model will be measured on, is left out. One row of a file in ten, by its first text, tells when to
stop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings as site

from core.errors import UserError
from core.files.rows import Row, RowFault, number_field, optional_field, read_rows, text_field
from core.text.clean import question_key
from retrieval.ranking.input_forms import FORMS
from retrieval.ranking.records import QueryRecord
from retrieval.training.building.shards import MANIFEST, read_manifest, shards_of
from retrieval.training.data.release_splits import read_release
from retrieval.training.recipes.settings import Fault, known_only, one_of, render
from retrieval.vectors.checksums import sha256_of

LONGEST = 10_000  # characters
DEV_SHARE = 10
MOST_SCORE = 5
DATA = "$QUORUM_DATA"
RELEASE = "release"
POSITIVES = "positives"
STS = "sts"
RANKS = "ranks"
RANK_FORMS = ("RANK", "QRANK")  # the pairs of a rank; the query before them
NAME_LENGTH = 60


class Candidate(NamedTuple):
    """What stands beside a query. Where a kind has one text, question and answer are both it."""

    question: str
    answer: str
    label: float  # 0 or 1, or how alike they are
    rank: tuple[str, ...] = ()  # of a whole rank: its pairs
    id: str = ""  # of a release


class Group(NamedTuple):
    query: str
    candidates: tuple[Candidate, ...]
    id: str = ""  # of a release


@dataclass(frozen=True)
class Material:
    """Groups to learn from, and those that tell when to stop."""

    train: Sequence[Group]
    dev: Sequence[Group]
    held_out: int = 0  # left out: a question of theirs is a query of some dev or test
    beside_dev: int = 0  # left out of train: a text of theirs is one of dev


@dataclass(frozen=True)
class Source:
    """A material as a recipe names it."""

    kind: str
    file: Path

    def to_dict(self) -> dict[str, str]:
        """Where it lies makes no difference: its digest stands beside."""
        return {"kind": self.kind}


@dataclass(frozen=True)
class Kind:
    columns: Sequence[tuple[str, ...]]  # that a file must have
    read: Callable[[Row], Group]  # raises RowFault
    # The texts of which a model may know none that dev or test ask.
    questions: Callable[[Group], Iterable[str]]
    # Of these, the ones that a row of train must not share with one of dev.
    own: Callable[[Group], Iterable[str]]
    forms: Mapping[str, tuple[str, ...]]  # by the kind of model
    figures: tuple[str, ...]  # what is measured on it


def of_release(train: Iterable[QueryRecord], dev: Iterable[QueryRecord]) -> Material:
    return Material([_group(record) for record in train], [_group(record) for record in dev])


def _group(record: QueryRecord) -> Group:
    candidates = (
        Candidate(one.question, one.answer, one.label, id=one.id) for one in record.candidates
    )
    return Group(record.query, tuple(candidates), record.id)


def forms_of(model: str, source: Source | None) -> tuple[str, ...]:
    """What a kind of model can read of a material; None: of the release."""
    if source is None or source.kind == RELEASE:
        return FORMS[model]
    return KINDS[source.kind].forms.get(model, ())


def parse_materials(values: object, folder: Path) -> dict[str, Source]:
    """Raises Fault. Files are looked for from the recipe's folder on."""
    if not isinstance(values, Mapping):
        raise Fault("materials must map names to a kind and a file")
    return dict(_source(name, one, folder) for name, one in values.items())


def _source(name: object, values: object, folder: Path) -> tuple[str, Source]:
    if not isinstance(name, str) or not 0 < len(name) <= NAME_LENGTH or name == RELEASE:
        raise Fault(f"a material cannot be called {render(name)}: {RELEASE} is the release itself")
    given = known_only(values, ("kind", "file"), f"the material {name}")
    kind = one_of(f"the kind of {name}", given.get("kind"), (*KINDS, RELEASE))
    file = given.get("file")
    if not isinstance(file, str) or not file.strip():
        raise Fault(f"the material {name} lacks its file")
    return name, Source(kind, located(folder, file.strip()))


def located(folder: Path, file: str) -> Path:
    """Of a file that names one: from its folder, or from the data folder, wherever that is."""
    rest = file.removeprefix(f"{DATA}/")
    return folder / file if rest == file else Path(site.DATA_DIR) / rest


def read_material(source: Source, held_out: Collection[str]) -> Material:
    """`held_out`: keys of questions that no model may have seen.

    UserError where a row is wrong: a dataset with holes is not trained on in silence.
    """
    if source.kind == RELEASE:
        return _other_release(source.file, held_out)
    kind = KINDS[source.kind]
    train: list[tuple[Collection[str], Group]] = []
    dev: list[Group] = []
    dev_keys: set[str] = set()
    left_out = 0
    for path, row in _rows(source, kind):
        group = _read(path, kind, row)
        if any(question_key(text) in held_out for text in kind.questions(group)):
            left_out += 1
            continue
        own = [question_key(text) for text in kind.own(group)]
        if int(own[0], 16) % DEV_SHARE == 0:
            dev.append(group)
            dev_keys.update(own)
        else:
            train.append((own, group))
    kept = [group for own, group in train if dev_keys.isdisjoint(own)]
    return Material(kept, dev, left_out, len(train) - len(kept))


def _other_release(folder: Path, held_out: Collection[str]) -> Material:
    release = read_release(folder)
    every = of_release(release.train, release.dev)
    train, dev = (
        [
            group
            for group in groups
            if not any(question_key(text) in held_out for text in _all_texts(group))
        ]
        for groups in (every.train, every.dev)
    )
    left_out = len(every.train) + len(every.dev) - len(train) - len(dev)
    return Material(train, dev, release.asked_again + left_out)


def read_whole(source: Source) -> list[Group]:
    """All of it, to measure by; UserError where it is empty."""
    kind = KINDS[source.kind]
    return [_read(path, kind, row) for path, row in _rows(source, kind)]


def _rows(source: Source, kind: Kind) -> Iterator[tuple[Path, Row]]:
    """Of a file, or of the shards of a folder that Quorum built."""
    paths: Iterable[Path] = [source.file]
    if source.file.is_dir():
        built = read_manifest(source.file)["kind"]
        if built != source.kind:
            raise UserError(f"{source.file} holds {built}, and the recipe says {source.kind}.")
        paths = shards_of(source.file)
    for path in paths:
        for row in read_rows(path, required=kind.columns):
            yield path, row


def questions_of(source: Source) -> set[str]:
    """Keys of those of which a model that is measured by it may know none: what these are to find,
    or is ranked for them, may be what it learned. Of a release, those of its dev and test."""
    if source.kind == RELEASE:
        return read_release(source.file).held_out()
    questions = _query if source.kind in (POSITIVES, RANKS) else KINDS[source.kind].questions
    return {question_key(text) for group in read_whole(source) for text in questions(group)}


def digest_of(source: Source) -> str:
    return sha256_of(source.file / MANIFEST if source.file.is_dir() else source.file)


def facts_of(source: Source, material: Material) -> dict[str, Any]:
    return {
        "file": source.file.name,
        "sha256": digest_of(source),
        "rows": len(material.train) + len(material.dev),
        "held_out": material.held_out,
        "beside_dev": material.beside_dev,
    }


def _read(path: Path, kind: Kind, row: Row) -> Group:
    try:
        if row.fault:
            raise RowFault(row.fault)
        return kind.read(row)
    except RowFault as fault:
        raise UserError(f"Line {row.line} of {path}: {fault}.") from fault


def _text(row: Row, *names: str) -> str:
    return text_field(row, names, limit=LONGEST)


def _one(query: str, text: str, label: float) -> Group:
    return Group(query, (Candidate(text, text, label),))


def _pairs(row: Row) -> Group:
    answer = optional_field(row, "answer2", limit=LONGEST)
    label = _label(row, "is_duplicate", "label")
    return Group(_text(row, "question1"), (Candidate(_text(row, "question2"), answer, label),))


def _positives(row: Row) -> Group:
    texts = {1: _text(row, "positive"), 0: optional_field(row, "negative", limit=LONGEST)}
    candidates = (Candidate(text, text, label) for label, text in texts.items() if text)
    return Group(_text(row, "anchor"), tuple(candidates))


def _topics(row: Row) -> Group:
    return _one(_text(row, "question"), _text(row, "topic"), 1)


def _sentences(row: Row) -> Group:
    return _one(_text(row, "question"), _text(row, "sentence"), _label(row, "label"))


def _spans(row: Row) -> Group:
    return _one(_text(row, "left"), _text(row, "right"), _label(row, "label"))


def _sts(row: Row) -> Group:
    score = number_field(row, "score")
    if not 0 <= score <= MOST_SCORE:
        raise RowFault(f"the score is {score:g}, and must be from 0 to {MOST_SCORE}")
    return _one(_text(row, "sentence1"), _text(row, "sentence2"), score / MOST_SCORE)


def _ranks(row: Row) -> Group:
    pairs = row.fields.get("pairs")
    if not isinstance(pairs, list) or len(pairs) < 2 or not all(map(_is_pair, pairs)):
        raise RowFault("pairs must be a list of two or more lists of a question and its answer")
    rank = tuple(f"{question} {answer}".strip() for question, answer in pairs)
    first = Candidate(pairs[0][0], pairs[0][1], _label(row, "label"), rank)
    others = (Candidate(question, answer, 0, rank) for question, answer in pairs[1:])
    return Group(_text(row, "query"), (first, *others))


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(x, str) for x in value)


def _label(row: Row, *names: str) -> int:
    name = next((name for name in names if row.fields.get(name) is not None), names[0])
    number = number_field(row, name)
    if number not in (0, 1):
        raise RowFault(f"the {name} is {number:g}, and must be 0 or 1")
    return int(number)


def _query(group: Group) -> Iterator[str]:
    yield group.query


def _all_texts(group: Group) -> Iterator[str]:
    yield group.query
    yield from (candidate.question for candidate in group.candidates)


_BESIDE = {"retriever": ("QQ",), "selector": ("QQ",)}  # one text beside another
_OF_PAIRS = ("Accuracy", "Precision", "Recall", "F1", "ROC-AUC")
_OR_NONE = ("Accuracy@1, or none", "F1, or none")
KINDS: Mapping[str, Kind] = {
    "pairs": Kind(
        (("question1",), ("question2",), ("is_duplicate", "label")),
        _pairs,
        _all_texts,
        _all_texts,
        FORMS,
        _OF_PAIRS,
    ),
    POSITIVES: Kind(
        (("anchor",), ("positive",)),
        _positives,
        _all_texts,
        _all_texts,
        _BESIDE,
        ("Accuracy@1", "Accuracy@3", "Accuracy@5", *_OR_NONE),
    ),
    "topics": Kind((("question",), ("topic",)), _topics, _query, _query, _BESIDE, ("Accuracy",)),
    "sentences": Kind(
        (("question",), ("sentence",), ("label",)),
        _sentences,
        _query,
        _query,
        _BESIDE,
        (*_OF_PAIRS, "Accuracy@1", *_OR_NONE),
    ),
    "spans": Kind((("left",), ("right",), ("label",)), _spans, _query, _query, _BESIDE, _OF_PAIRS),
    STS: Kind(
        (("sentence1",), ("sentence2",), ("score",)),
        _sts,
        _all_texts,
        _all_texts,
        _BESIDE,
        ("Pearson", "Spearman"),
    ),
    RANKS: Kind(
        (("query",), ("pairs",), ("label",)),
        _ranks,
        _all_texts,
        _query,
        {"selector": RANK_FORMS},
        _OF_PAIRS,
    ),
}
