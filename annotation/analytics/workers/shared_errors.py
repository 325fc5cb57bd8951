"""Workers who share more errors than chance allows, on items whose answers are known.

These are controls, which are answered in work that failed, too, and triplets that experts judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from django.db.models import F, QuerySet

from annotation.models import Campaign, Control, ExpertLabel, Judgment, Worker
from annotation.pipeline.labelling.known_answers import RIGHT, control_answers, verdicts
from annotation.pipeline.labelling.votes import ROWS, valid_judgments
from core.errors import UserError
from core.files.rows import read_rows

ROW = np.dtype([(name, np.int64) for name in ("item", "worker", "answer", "label")])
MACHINE = "the machine"
NO_LABEL = -1
GROWN = 1.05  # times as many answers as last time, before pairs are compared again


@dataclass(frozen=True)
class SharedErrors:
    """Of `shared` items that both answered, both have `both_wrong` wrong; chance has `expected`."""

    first: str  # the crowd's ids
    second: str
    shared: int
    both_wrong: int
    expected: float


@dataclass(frozen=True)
class Report:
    """`pairs`: those that are named, of so many `compared`."""

    answers: int
    compared: int
    pairs: list[SharedErrors]


def report_of(campaign: Campaign, machine: Mapping[int, int] | None = None) -> Report:
    """Of each two workers; with the labels of a `machine`, by the numbers of `known_items`, of each
    worker beside it."""
    # It loads scipy, which most pages and commands do without.
    from annotation.protocol.screening.shared_errors import Answers, name_pairs  # noqa: PLC0415

    rows = _answers(campaign)
    answers = len(rows)
    # Somebody may have met a control twice, in two HITs.
    rows = rows[np.unique(rows[["worker", "item"]], return_index=True)[1]]
    items, at, item = np.unique(rows["item"], return_index=True, return_inverse=True)
    workers, worker = np.unique(rows["worker"], return_inverse=True)
    wrong, labels = rows["answer"] != rows["label"], rows["label"][at]
    if machine is not None:
        by_machine = np.array([machine.get(number, NO_LABEL) for number in items.tolist()], int)
        said = np.flatnonzero(by_machine != NO_LABEL)
        item, worker = np.append(item, said), np.append(worker, np.full(len(said), len(workers)))
        wrong = np.append(wrong, (by_machine != labels)[said])
    # Workers err on controls and on triplets of each label in their own way.
    table = Answers(worker, item, wrong, 2 * (items % 2) + labels)
    named = name_pairs(table, machine=None if machine is None else len(workers))
    ids = dict(Worker.objects.filter(pk__in=workers.tolist()).values_list("pk", "worker_id"))
    names = [*(ids[key] for key in workers.tolist()), MACHINE]
    pairs = [
        SharedErrors(
            names[pair.first],
            names[pair.second],
            pair.shared,
            pair.both_wrong,
            round(pair.expected, 1),
        )
        for pair in named.pairs
    ]
    return Report(answers, named.compared, pairs)


def kept_report(campaign: Campaign, last: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The `last` one, unless much more is known since then: comparing reads all answers."""
    answers = control_answers(campaign).count() + _on_judged(campaign).count()
    if last and last["answers"] <= answers <= GROWN * last["answers"]:
        return last
    return asdict(report_of(campaign))


def known_items(campaign: Campaign) -> Iterator[dict[str, object]]:
    """Their numbers and texts, for a machine to label."""
    controls = Control.objects.filter(pk__in=control_answers(campaign).values("item__control"))
    for control in controls.order_by("pk"):
        yield {
            "item": 2 * control.pk + 1,
            "query": control.query,
            "question": control.question,
            "answer": control.answer,
        }
    triplets = campaign.triplets.filter(pk__in=_on_judged(campaign).values("triplet"))
    for triplet in triplets.select_related("candidate__query", "candidate__pair").order_by("pk"):
        yield {
            "item": 2 * triplet.pk,
            "query": triplet.candidate.query.text,
            "question": triplet.candidate.pair.question,
            "answer": triplet.candidate.pair.answer,
        }


def read_machine(path: Path) -> dict[int, int]:
    """UserError names the first line that is wrong."""
    labels = {}
    for row in read_rows(path, required=[("item",), ("label",)]):
        item, label = (str(row.fields.get(name, "")) for name in ("item", "label"))
        if row.fault or not item.isdecimal() or label not in ("0", "1"):
            why = f" ({row.fault})" if row.fault else ""
            raise UserError(
                f"Line {row.line} of {path} is no label of a machine{why}: give the number of an "
                "item, as `--items` writes it, and its label, 0 or 1."
            )
        labels[int(item)] = int(label)
    return labels


def _answers(campaign: Campaign) -> Any:
    """An item's number is twice the triplet's key, or twice the control's and one more."""
    controls = control_answers(campaign).values_list(
        F("item__control_id") * 2 + 1, "worker_id", "value", RIGHT
    )
    labels = verdicts(ExpertLabel.objects.filter(triplet__campaign=campaign))
    known = {triplet: int(yes > no) for triplet, (yes, no) in labels.items() if yes != no}
    votes = _on_judged(campaign).values_list("triplet_id", "worker_id", "value")
    rows = [
        *controls.iterator(chunk_size=ROWS),
        *(
            (2 * triplet, *said, known[triplet])
            for triplet, *said in votes.iterator(chunk_size=ROWS)
            if triplet in known
        ),
    ]
    return np.array(rows, ROW)


def _on_judged(campaign: Campaign) -> QuerySet[Judgment]:
    judged = ExpertLabel.objects.filter(triplet__campaign=campaign).values("triplet")
    return valid_judgments(campaign).filter(triplet__in=judged).order_by("pk")
