"""What experts said of a campaign's triplets, in figures: read from their labels, never stored."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce

from annotation.models import Campaign, ExpertLabel, Triplet
from annotation.pipeline.labelling.votes import ROWS
from annotation.protocol.labels.derivation import label_before_experts
from annotation.protocol.labels.expert_agreement import ExpertFigures
from annotation.protocol.labels.label_error import Verdict, label_error, pair_agreement
from annotation.protocol.policy.policy import Policy

# Adjudicated triplets were chosen for being hard, or were reported: how often the crowd errs on
# them says nothing of the others.
CHOSEN_WITHOUT_LOOKING = (ExpertLabel.Source.IMPORT, ExpertLabel.Source.SAMPLE)

COLUMNS = (
    "triplet__status",
    "triplet__label",
    "triplet__label_source",
    "triplet__votes",
    "triplet__positive_votes",
)


class _Said(NamedTuple):
    """What experts said of one triplet before they saw what others did.

    `sampled` are those of CHOSEN_WITHOUT_LOOKING.
    """

    status: str
    label: int | None
    source: str | None
    votes: int
    positive: int
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
        label_error=label_error(
            Verdict(label, row.sampled_yes, row.sampled - row.sampled_yes)
            for row in said.elements()
            if (label := _by_the_crowd(row, campaign.policy)) is not None
        ),
    )


def _by_the_crowd(row: _Said, policy: Policy) -> int | None:
    return label_before_experts(row.label, row.source, row.votes, row.positive, policy)


def _said(campaign: Campaign) -> Iterator[_Said]:
    sampled = Q(source__in=CHOSEN_WITHOUT_LOOKING)
    blind = Coalesce("blind_label", "label")
    labels = ExpertLabel.objects.filter(triplet__campaign=campaign).order_by()
    rows = labels.values_list("triplet", *COLUMNS).annotate(
        labels=Count("pk"),
        yes=Sum(blind),
        sampled=Count("pk", filter=sampled),
        sampled_yes=Sum(blind, filter=sampled, default=0),
    )
    for _, *said in rows.iterator(chunk_size=ROWS):
        yield _Said(*said)
