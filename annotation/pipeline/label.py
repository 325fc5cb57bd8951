"""Derive the labels from the valid votes, and ask for the votes that are missing."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count

from annotation.models import Assignment, Campaign, Hit, HitItem, Intent, Judgment, Triplet
from annotation.pipeline.publish import token
from annotation.protocol.policy import CROWDED_HIT
from annotation.protocol.vote import Label, decide, places_to_open, valid_votes

BATCH = 1000
MANY = 1000
FIELDS = ["status", "label", "votes", "positive_votes"]


@dataclass(frozen=True)
class Labelled:
    labelled: int
    open: int
    unresolved: int
    places_opened: int


def votes_by_triplet(campaign: Campaign) -> dict[int, list[int]]:
    """Triplet -> its valid votes in order of submission; triplets without votes are absent."""
    judgments = (
        Judgment.objects.filter(
            assignment__hit__campaign=campaign, assignment__passed=True, item__control=None
        )
        # Somebody may have rejected it at the crowd by hand: refused work has no say.
        .exclude(assignment__status=Assignment.Status.REJECTED)
        .order_by("assignment__submitted_at", "assignment__crowd_id")
        .values_list("worker_id", "item__triplet_id", "value")
    )
    excluded = set(campaign.exclusions.values_list("worker_id", flat=True))
    return valid_votes(judgments.iterator(chunk_size=10_000), excluded)


def label(campaign: Campaign) -> Labelled:
    """Recompute every label of the campaign and open the places that are missing, at once."""
    with transaction.atomic():
        campaign = Campaign.objects.select_for_update().get(pk=campaign.pk)
        policy = campaign.policy
        votes = votes_by_triplet(campaign)
        triplets = list(campaign.triplets.all())
        decisions = {row.pk: decide(votes.get(row.pk, []), policy) for row in triplets}
        opened, stuck = _open_places(campaign, decisions)
        changed = [row for row in triplets if _update(row, decisions[row.pk], votes, stuck)]
        Triplet.objects.bulk_update(changed, FIELDS, batch_size=BATCH)
    counts = Counter(row.status for row in triplets)
    return Labelled(counts["labelled"], counts["open"], counts["unresolved"], opened)


def _open_places(campaign: Campaign, decisions: dict[int, Label]) -> tuple[int, set[int]]:
    """Extend the HITs whose triplets lack votes; (places opened, triplets of full HITs)."""
    intents: list[Intent] = []
    grown: list[Hit] = []
    stuck: set[int] = set()
    # The crowd lets no HIT of fewer than 10 places grow to 10 or more.
    most = CROWDED_HIT - 1 if campaign.policy.annotators < CROWDED_HIT else MANY
    reviewed = _reviewed_by_hit(campaign)
    triplets = _triplets_by_hit(campaign)
    for hit in campaign.hits.exclude(crowd_id=None).order_by("number"):
        wanted = {triplet: decisions[triplet].wanted for triplet in triplets[hit.pk]}
        outstanding = hit.places - reviewed.get(hit.pk, 0)
        missing = places_to_open(wanted.values(), outstanding)
        extra = min(missing, most - hit.places)
        if extra > 0:
            hit.places += extra
            grown.append(hit)
            intents.append(_extension(campaign, hit, extra))
        elif missing:
            stuck |= {triplet for triplet, votes in wanted.items() if votes > outstanding}
    Hit.objects.bulk_update(grown, ["places"], batch_size=BATCH)
    Intent.objects.bulk_create(intents, batch_size=BATCH)
    return sum(intent.places for intent in intents), stuck


def _reviewed_by_hit(campaign: Campaign) -> dict[int, int]:
    done = Assignment.objects.filter(hit__campaign=campaign, passed__isnull=False)
    counts = done.order_by().values_list("hit").annotate(reviewed=Count("pk"))
    return dict(counts)


def _triplets_by_hit(campaign: Campaign) -> dict[int, list[int]]:
    found: defaultdict[int, list[int]] = defaultdict(list)
    rows = HitItem.objects.filter(hit__campaign=campaign, control=None)
    for hit, triplet in rows.values_list("hit_id", "triplet_id").iterator(chunk_size=10_000):
        if triplet is not None:
            found[hit].append(triplet)
    return found


def _extension(campaign: Campaign, hit: Hit, extra: int) -> Intent:
    """The token names the size the HIT grows to: each growth is its own effect."""
    return Intent(
        campaign=campaign,
        kind=Intent.Kind.EXTEND,
        token=token("extend", hit.key, hit.places),
        hit=hit,
        places=extra,
    )


def _update(row: Triplet, decision: Label, votes: dict[int, list[int]], stuck: set[int]) -> bool:
    """Write the decision into the row; whether that changed it."""
    before = [getattr(row, field) for field in FIELDS]
    given = votes.get(row.pk, [])
    row.status = Triplet.Status.UNRESOLVED if row.pk in stuck else decision.status
    row.label = decision.value
    row.votes, row.positive_votes = len(given), sum(given)
    return before != [getattr(row, field) for field in FIELDS]
