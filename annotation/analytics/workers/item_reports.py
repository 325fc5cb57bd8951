"""What workers have reported as wrong with items: read-only, for the owner."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Count, QuerySet, Value
from django.db.models.functions import Coalesce

from annotation.models import Campaign, HitItem, ItemReport


@dataclass
class Complaint:
    """One reason, and what those who gave it wrote."""

    reason: str
    workers: int = 0
    cannot_judge: int = 0  # of these workers
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReportedItem:
    hit_id: int
    hit: int  # its number
    position: int  # on the page, from 1 on
    control: str  # its kind; empty: a triplet
    query: str
    question: str
    answer: str
    complaints: Sequence[Complaint]

    @property
    def workers(self) -> int:
        return sum(complaint.workers for complaint in self.complaints)


def reported_items(campaign: Campaign) -> QuerySet[ItemReport, int]:
    """Primary keys of the reported items, those that most workers have reported first."""
    reports = ItemReport.objects.filter(assignment__hit__campaign=campaign).values("item")
    most = reports.annotate(count=Count("pk")).order_by("-count", "item")
    return most.values_list("item", flat=True)


def read_items(items: Sequence[int]) -> list[ReportedItem]:
    """In this order, each with all that was said of it."""
    complaints = _complaints(items)
    rows = HitItem.objects.filter(pk__in=items).values(
        "pk",
        "hit_id",
        "hit__number",
        "position",
        kind=Coalesce("control__kind", Value("")),
        query=Coalesce("control__query", "triplet__candidate__query__text"),
        question=Coalesce("control__question", "triplet__candidate__pair__question"),
        answer=Coalesce("control__answer", "triplet__candidate__pair__answer"),
    )
    reports = {
        row["pk"]: ReportedItem(
            hit_id=row["hit_id"],
            hit=row["hit__number"],
            position=row["position"] + 1,
            control=row["kind"],
            query=row["query"],
            question=row["question"],
            answer=row["answer"],
            complaints=complaints[row["pk"]],
        )
        for row in rows
    }
    return [reports[item] for item in items]


def _complaints(items: Sequence[int]) -> dict[int, list[Complaint]]:
    """Item -> its complaints, the first one first."""
    complaints: dict[int, dict[str, Complaint]] = defaultdict(dict)
    for report in ItemReport.objects.filter(item__in=items).order_by("pk"):
        reason = report.get_reason_display()
        complaint = complaints[report.item_id].setdefault(reason, Complaint(reason))
        complaint.workers += 1
        complaint.cannot_judge += report.cannot_judge
        if report.text:
            complaint.texts.append(report.text)
    return {item: list(reasons.values()) for item, reasons in complaints.items()}
