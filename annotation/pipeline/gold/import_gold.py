"""Take labels that experts gave elsewhere: they measure the votes' labels, and decide none."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from django.db import IntegrityError, transaction

from annotation.models import Campaign, ExpertLabel, Triplet
from annotation.pipeline.gold.gold_file import (
    MAX_EXPERT,
    GoldPair,
    Meanings,
    read_gold_file,
)
from annotation.pipeline.gold.rejected_rows import BadRows, Rejected
from annotation.pipeline.labelling.votes import ROWS
from annotation.pipeline.ledger.reservations import locked
from core.errors import UserError
from core.progress import Progress, no_progress
from core.text.clean import clean_text, is_utf8, normalise_question
from retrieval.models import QaPair

EXPERT = "gold"  # where neither the file nor the command names one
BATCH = 5_000
FIELDS = ["label", "blind_label", "note"]  # where a label came from first stays with it
FIRST_LINES = 5


@dataclass
class Imported:
    rows: int = 0
    labels_new: int = 0
    labels_unchanged: int = 0
    labels_changed: int = 0
    rows_without_triplet: int = 0
    first_lines_without: list[int] = field(default_factory=list)

    @property
    def labels(self) -> int:
        return self.labels_new + self.labels_unchanged + self.labels_changed

    def missed(self, line: int) -> None:
        self.rows_without_triplet += 1
        if len(self.first_lines_without) < FIRST_LINES:
            self.first_lines_without.append(line)


class Given(NamedTuple):
    """A label for one triplet, and the line that gives it."""

    triplet: int
    expert: str
    label: int
    note: str
    line: int


def import_gold(
    path: Path,
    campaign: Campaign,
    *,
    expert: str = EXPERT,
    replace: bool = False,
    progress: Progress = no_progress,
) -> Imported:
    """All rows or none."""
    labels = read_gold(path, campaign, expert=expert, progress=progress)
    return store_gold(labels, campaign, replace=replace)


class GoldLabels(NamedTuple):
    """What a file says of a campaign's triplets."""

    path: Path
    given: list[Given]
    counts: Imported


def read_gold(
    path: Path, campaign: Campaign, *, expert: str, progress: Progress = no_progress
) -> GoldLabels:
    """To its end, outside a transaction: annotators submit meanwhile. `progress` counts bytes.

    BadRows where rows cannot be used or contradict each other; UserError where none matches.
    """
    expert = _checked(expert)
    imported = Imported()
    rejected: list[Rejected] = []
    rows = read_gold_file(path, expert=expert, rejected=rejected, progress=progress)
    if isinstance(rows, Meanings):
        given = list(_by_meaning(campaign, rows, expert, imported))
    else:
        given = list(_once_each(_by_pair(campaign, rows, imported, rejected), rejected))
    if rejected:
        raise BadRows(path, sorted(rejected, key=attrgetter("line")))
    if not given:
        raise UserError(_no_match(path, campaign, imported))
    return GoldLabels(path, given, imported)


def store_gold(labels: GoldLabels, campaign: Campaign, *, replace: bool) -> Imported:
    """UserError where an expert gave another label before, unless `replace`."""
    path, given, imported = labels
    try:
        with transaction.atomic():
            locked(campaign)
            _store(path, iter(given), imported, replace=replace)
    except IntegrityError as error:
        raise UserError(
            f"An expert labelled triplets of {path} at the same time: run the import again."
        ) from error
    return imported


def _checked(expert: str) -> str:
    name = clean_text(expert)
    if not name or len(name) > MAX_EXPERT or not is_utf8(name):
        raise UserError(
            f"The expert needs a name of 1 to {MAX_EXPERT} characters in UTF-8, not {name!r}."
        )
    return name


def _no_match(path: Path, campaign: Campaign, imported: Imported) -> str:
    return (
        f"None of the {imported.rows:,} rows of {path} is about one of the "
        f"{campaign.triplets.count():,} triplets of campaign {campaign}: compare its queries and "
        "questions with the campaign's; nothing was imported."
    )


def _by_pair(
    campaign: Campaign, rows: Iterable[GoldPair], imported: Imported, rejected: list[Rejected]
) -> Iterator[Given]:
    rows = iter(rows)
    queries = dict(campaign.query_set.queries.order_by().values_list("pk", "question_key"))
    without: dict[tuple[str, str, str, str], tuple[int, int]] = {}
    while batch := list(islice(rows, BATCH)):
        imported.rows += len(batch)
        triplets = _triplets(batch, queries)
        for row in batch:
            matching = [
                pk
                for pk, answer in triplets.get((row.query, row.question), ())
                if not row.answer or row.answer == normalise_question(answer)
            ]
            yield from (Given(pk, row.expert, row.label, row.note, row.line) for pk in matching)
            if not matching:
                imported.missed(row.line)
                key = row.query, row.question, row.answer, row.expert
                before = without.setdefault(key, (row.label, row.line))
                _agree(row.line, row.label, before, rejected)


def _triplets(
    batch: Sequence[GoldPair], queries: Mapping[int, str]
) -> dict[tuple[str, str], list[tuple[int, str]]]:
    """(query's key, question's key) -> primary keys and answers of the triplets that ask so.

    From the questions on, in two steps: asked for the campaign's triplets, a database without
    statistics reads all of them for each batch.
    """
    pairs = QaPair.objects.filter(question_key__in={row.question for row in batch})
    texts = {pk: text for pk, *text in pairs.values_list("pk", "question_key", "answer")}
    rows = Triplet.objects.filter(candidate__pair__in=texts).order_by("pk")
    triplets: defaultdict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for pk, query, pair in rows.values_list("pk", "candidate__query", "candidate__pair"):
        if query in queries:
            question, answer = texts[pair]
            triplets[queries[query], question].append((pk, answer))
    return triplets


def _by_meaning(
    campaign: Campaign, meanings: Meanings, expert: str, imported: Imported
) -> Iterator[Given]:
    """Every triplet both of whose questions have a known meaning."""
    used: set[str] = set()
    rows = campaign.triplets.order_by("pk").values_list(
        "pk", "candidate__query__question_key", "candidate__pair__question_key"
    )
    for pk, query, question in rows.iterator(chunk_size=ROWS):
        one, other = meanings.of.get(query), meanings.of.get(question)
        if one is not None and other is not None:
            used.update((query, question))
            yield Given(pk, expert, int(one.name == other.name), "", one.line)
    imported.rows = meanings.rows
    for key, meaning in meanings.of.items():
        if key not in used:
            imported.missed(meaning.line)


def _once_each(given: Iterable[Given], rejected: list[Rejected]) -> Iterator[Given]:
    """Without repetitions; contradictions come to `rejected`."""
    seen: dict[tuple[int, str], tuple[int, int]] = {}
    for each in given:
        key, said = (each.triplet, each.expert), (each.label, each.line)
        before = seen.setdefault(key, said)
        _agree(each.line, each.label, before, rejected)
        if before is said:
            yield each


def _agree(line: int, label: int, before: tuple[int, int], rejected: list[Rejected]) -> None:
    if before[0] != label:
        fault = f"it says {label} of what line {before[1]} says {before[0]} of, by the same expert"
        rejected.append(Rejected(line, fault))


def _store(path: Path, given: Iterator[Given], imported: Imported, *, replace: bool) -> None:
    changed_lines: list[int] = []
    decided_lines: list[int] = []
    while batch := list(islice(given, BATCH)):
        changed, decided = _write(batch, imported, replace=replace)
        changed_lines += changed[:FIRST_LINES]
        decided_lines += decided
    if decided_lines:
        lines = ", ".join(map(str, sorted(decided_lines)[:FIRST_LINES]))
        raise UserError(
            f"{len(decided_lines):,} labels or notes of {path} are not those that the same expert "
            f"gave by adjudication (first in lines {lines}), which no file changes: change them "
            "there, or leave them out; nothing was imported."
        )
    if imported.labels_changed and not replace:
        lines = ", ".join(map(str, sorted(changed_lines)[:FIRST_LINES]))
        raise UserError(
            f"{imported.labels_changed:,} labels or notes of {path} are not those that the same "
            f"expert gave before (first in lines {lines}): ask for them to be replaced "
            "(--replace), or leave them out; nothing was imported."
        )


def _write(
    batch: Sequence[Given], imported: Imported, *, replace: bool
) -> tuple[list[int], list[int]]:
    """Store what is new and, by `replace`, what has changed.

    The lines of the latter, and of what differs from a label that adjudication gave.
    """
    stored = ExpertLabel.objects.filter(triplet__in={each.triplet for each in batch})
    known = {(label.triplet_id, label.expert): label for label in stored}
    new, changed = [], []
    lines: list[int] = []
    decided: list[int] = []
    for each in batch:
        label = known.get((each.triplet, each.expert))
        if label is None:
            label = ExpertLabel(
                triplet_id=each.triplet, expert=each.expert, source=ExpertLabel.Source.IMPORT
            )
            new.append(label)
        elif label.label == each.label and each.note in ("", label.note):
            continue
        elif label.adjudicated:
            decided.append(each.line)
            continue
        else:
            changed.append(label)
            lines.append(each.line)
        _say(label, each)
    ExpertLabel.objects.bulk_create(new)
    if replace:
        ExpertLabel.objects.bulk_update(changed, FIELDS, batch_size=500)
    imported.labels_new += len(new)
    imported.labels_changed += len(changed)
    imported.labels_unchanged += len(batch) - len(new) - len(changed)
    return lines, decided


def _say(label: ExpertLabel, each: Given) -> None:
    """Over a label that the page took, it comes from somebody who has seen the votes."""
    note = each.note or label.note
    if label.pk is not None and label.source != ExpertLabel.Source.IMPORT:
        label.change(each.label, note)
    else:
        label.label, label.note = each.label, note
