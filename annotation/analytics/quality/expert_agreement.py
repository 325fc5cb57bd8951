"""What experts said of a campaign's triplets, in figures, and what they have to judge yet."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce

from annotation.models import Campaign, ExpertLabel, Triplet
from annotation.pipeline.labelling.label import overruled
from annotation.pipeline.labelling.votes import CHOSEN_WITHOUT_LOOKING, ROWS
from annotation.protocol.estimates.audit_plan import is_pilot, labels_for_width
from annotation.protocol.estimates.certificate import Certificate, Way, certify, ways
from annotation.protocol.estimates.label_audit import Audit, Pattern
from annotation.protocol.labels.derivation import label_before_experts
from annotation.protocol.labels.expert_agreement import ExpertFigures
from annotation.protocol.labels.label_error import LabelError, Verdict, pair_agreement
from annotation.protocol.policy.policy import Policy
from core.text.words import plural

SAMPLED = Q(source__in=CHOSEN_WITHOUT_LOOKING)
BLIND = Coalesce("blind_label", "label")

PILOT = "the labels that experts have judged at random"
CLAIMS = (
    "how likely the votes themselves claim that a label is wrong, which is often too much: judge "
    "some at random first"
)
COLUMNS = ("label", "label_source", "votes", "positive_votes")


class _Said(NamedTuple):
    """What experts said of one triplet before they saw what others did.

    `sampled` are those of CHOSEN_WITHOUT_LOOKING.
    """

    status: str
    label: int | None
    source: str | None
    votes: int
    positive: int
    overruled: int | None  # the aggregator's label
    labels: int
    yes: int
    sampled: int
    sampled_yes: int


def expert_figures(campaign: Campaign) -> ExpertFigures:
    said = Counter(_said(campaign))  # few different ones, many triplets
    unresolved = campaign.triplets.filter(status=Triplet.Status.UNRESOLVED).count()
    adjudicated = sum(n for row, n in said.items() if row.status == Triplet.Status.UNRESOLVED)
    return ExpertFigures(
        labels=sum(row.labels * n for row, n in said.items()),
        triplets=said.total(),
        unresolved_adjudicated=adjudicated / unresolved if unresolved else None,
        agreement=pair_agreement((row.yes, row.labels - row.yes) for row in said.elements()),
        label_error=_audit(campaign, said, only_judged=True).error(),
    )


def _audit(campaign: Campaign, said: Counter[_Said], *, only_judged: bool) -> Audit:
    """`only_judged`: to count all labels takes long, and without a judged one is for nothing."""
    audit = Audit()
    for row in said.elements():
        pattern = _pattern(
            campaign.policy, row.label, row.source, row.votes, row.positive, row.overruled
        )
        if pattern and row.sampled:
            verdict = Verdict(pattern.label, row.sampled_yes, row.sampled - row.sampled_yes)
            audit.judge(pattern, verdict)
    if audit.judged or not only_judged:
        rows = campaign.triplets.filter(status=Triplet.Status.LABELLED).order_by()
        named = rows.annotate(overruled=overruled(campaign)).values_list(*COLUMNS, "overruled")
        for label, source, votes, positive, said_of, labels in named.annotate(labels=Count("pk")):
            pattern = _pattern(campaign.policy, label, source, votes, positive, said_of)
            audit.add(pattern, decided=source == Triplet.LabelSource.EXPERT, labels=labels)
    return audit


def _pattern(
    policy: Policy,
    label: int | None,
    source: str | None,
    votes: int,
    positive: int,
    said: int | None,
) -> Pattern | None:
    before = label_before_experts(label, source, votes, positive, policy, said)
    return None if before is None else Pattern(before, positive, votes - positive)


def _said(campaign: Campaign) -> Iterator[_Said]:
    labels = ExpertLabel.objects.filter(triplet__campaign=campaign).order_by()
    columns = (f"triplet__{column}" for column in ("status", *COLUMNS))
    labels = labels.annotate(overruled=overruled(campaign, "triplet__"))
    rows = labels.values_list("triplet", *columns, "overruled").annotate(
        labels=Count("pk"),
        yes=Sum(BLIND),
        sampled=Count("pk", filter=SAMPLED),
        sampled_yes=Sum(BLIND, filter=SAMPLED, default=0),
    )
    for _, *said in rows.iterator(chunk_size=ROWS):
        yield _Said(*said)


@dataclass(frozen=True)
class AuditPlan:
    """`more`: labels that experts have to judge yet for an interval of this width; `ways`: to the
    certificate, where one is wanted and does not hold."""

    labels: int
    judged: int  # at random
    error: LabelError | None
    width: float
    more: int
    basis: str
    certificate: Certificate | None
    ways: Sequence[str]


def audit_plan(campaign: Campaign, *, width: float, share: float | None) -> AuditPlan:
    """`share`: of wrong labels, at most, that a certificate is wanted for."""
    audit = _audit(campaign, Counter(_said(campaign)), only_judged=False)
    judged = audit.judged.total()
    certificate = None if share is None else certify(audit, share)
    wanted = [] if share is None or certificate is None or certificate.holds else ways(audit, share)
    return AuditPlan(
        labels=audit.labels.total() + audit.alone,
        judged=judged,
        error=audit.error(),
        width=width,
        more=max(0, labels_for_width(audit, width) - judged),
        basis=PILOT if is_pilot(audit) else CLAIMS,
        certificate=certificate,
        ways=[_in_words(way) for way in wanted],
    )


def _in_words(way: Way) -> str:
    decide = f"experts decide the {plural(way.decide, 'label')} of which votes are least sure, and "
    return f"{decide if way.decide else ''}experts judge {way.judge:,} more at random"
