"""A campaign's figures at a time, which pages read in place of counting long tables.

They are taken at the end of each pass, and by a page where the campaign is small. Keys of
`figures`, beside the counts of `annotation.analytics.campaign.progress` under the same names:

    hits_by_state           {state: HITs in it}, each HIT in one alone: see
                            `annotation.analytics.quality.hit_states`
    rates                   of hits_published, submitted, reviewed and labelled: what comes in an
                            hour; or null
    eta                     hours until no triplet is open, with `least` and `most`; or null, as
                            where nobody is left for some of the work
    reviewed                assignments of which is known whether they passed their controls
    pairs, ties             triplets with two valid votes; those of which the first two differ
    agreement, kappa        over the first two votes: `value`, `low`, `high`
    control_failures        share of the reviewed assignments: `value`, `low`, `high`
    positives_by_rank       [rank, triplets with a label, of them positive], from rank 1 on
    cannot_judge            valid answers that a triplet can't be judged: no votes
    votes_per_triplet       how many triplets have 0, 1, 2 ... valid votes
    label_cents             what a label has cost so far; or null
    status, blockers        `sentence`, `reason`, `operation`, `options` and `alternative` of what
                            blocks the campaign
    stranded                `assignments` that nobody eligible is left for, `people` who could take
                            them all, `ties` among the open triplets
    outlook, prolonging     of `pipeline.publishing.outlook`: what operations would cost and strand
    shortage                what waits for a higher budget; or null
    hits_of_versions        {version of the instructions: HITs that show it}, of those that have any
    rejection_reasons       {why an assignment was rejected, or is paid and discarded: how many}
    plan                    `planned` and `came`: cost, votes a triplet and label error as they were
                            predicted, and what came; only of a campaign that was made from a plan
    began, ended            the first publication and the last submission; or null
    seconds                 that counting took
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from time import monotonic
from typing import Any, NamedTuple

from django.db.models import Count, Max, Min, QuerySet, Sum
from django.utils import timezone

from annotation.analytics.campaign.progress import (
    assignment_counts,
    hit_counts,
    money,
    plan_figures,
    question_counts,
    triplets_published,
    trouble_counts,
    vote_counts,
)
from annotation.analytics.campaign.status import (
    blockers,
    campaign_status,
    labelled_of,
    shortage,
)
from annotation.analytics.quality import review_figures
from annotation.analytics.quality.hit_states import hits_by_state
from annotation.analytics.workers import worker_figures
from annotation.models import Assignment, Campaign, Snapshot, TripletCount, TripletTally
from annotation.pipeline.labelling.tallies import tallies_of
from annotation.pipeline.labelling.votes import ROWS, pairs_of
from annotation.pipeline.outbox.claims import Clock
from annotation.pipeline.publishing.outlook import most_prolonging, outlook
from annotation.pipeline.publishing.takers import stranded
from annotation.pipeline.setup.instructions import hits_of_versions
from annotation.protocol.estimates.downsampling import superfluous
from annotation.protocol.estimates.eta import Rate, Reading, eta, rate_of
from annotation.protocol.labels.agreement import Pairs, estimate, kappa, observed, rounded
from annotation.protocol.labels.label_error import wilson_interval
from core.sqlite_busy import if_free
from retrieval.models import Candidate

Figures = dict[str, Any]

FRESH = timedelta(minutes=1)
SMALL = 5000  # candidates: so many are counted while a reader waits
RECENT = timedelta(hours=6)  # rates are of this time
READINGS = 24
RATED = ("hits_published", "submitted", "reviewed", "labelled")
REST = 20  # between two counts, as many times as long as counting took


def newest(campaign: Campaign) -> Snapshot | None:
    return campaign.snapshots.order_by("-at", "-pk").first()


def take(campaign: Campaign, *, clock: Clock = timezone.now) -> Snapshot:
    began = monotonic()
    figures = _figures(campaign, clock)
    now = clock()
    figures |= _rates_and_eta(campaign, figures, now)
    worker_figures.take(campaign, clock=clock)
    review_figures.take(campaign, clock=clock)
    figures["seconds"] = round(monotonic() - began, 3)
    made = Snapshot.objects.create(campaign=campaign, at=now, figures=figures)
    _downsample(campaign, now)
    return made


def take_after_a_pass(campaign: Campaign) -> None:
    """Not after each one where counting takes long: passes are there to pass."""
    last = newest(campaign)
    if last is None:
        take(campaign)
        return
    rest = timedelta(seconds=REST * last.figures["seconds"])
    if timezone.now() - last.at >= rest:
        take(campaign)


def take_if_old(campaign: Campaign) -> Snapshot | None:
    """The newest one; taken again first, where it is old, counting is quick and nobody writes."""
    last = newest(campaign)
    if is_old(campaign, last) and is_small(campaign):
        return if_free(partial(take, campaign), otherwise=last)
    return last


def is_old(campaign: Campaign, last: Snapshot | None) -> bool:
    """A minute, or somebody has done something since."""
    if last is None or timezone.now() - last.at > FRESH:
        return True
    return campaign.audit_entries.filter(at__gt=last.at).exists()


def is_small(campaign: Campaign) -> bool:
    candidates = Candidate.objects.filter(query__query_set=campaign.query_set_id).order_by()
    return not candidates[SMALL : SMALL + 1].exists()


def series(campaign: Campaign, *, points: int, since: datetime | None = None) -> list[Snapshot]:
    """At most so many, evenly spread in time, the newest among them."""
    rows = campaign.snapshots.filter(at__gte=since) if since else campaign.snapshots.all()
    times = list(rows.order_by("at", "pk").values_list("at", "pk"))
    chosen = {pk for _, pk in spread(times, points)}
    return list(campaign.snapshots.filter(pk__in=chosen).order_by("at", "pk"))


def spread(times: Sequence[tuple[datetime, int]], points: int) -> list[tuple[datetime, int]]:
    """The last one in each of `points` equal steps of the time that they span."""
    if len(times) <= points:
        return list(times)
    first, span = times[0][0], times[-1][0] - times[0][0]
    if not span:
        return [times[-1]]
    steps = {min(int((at - first) / span * points), points - 1): (at, pk) for at, pk in times}
    return list(steps.values())


def _figures(campaign: Campaign, clock: Clock) -> Figures:
    pairs = _pairs(campaign)
    labels = _labels(campaign)
    assignments: Figures = assignment_counts(campaign)
    assignments["reviewed"] = assignments["submitted"] - assignments["to_review"]
    sums: Figures = money(campaign)
    short = shortage(campaign) if campaign.state == Campaign.State.CAPPED else None
    left = stranded(campaign, clock())
    return {
        "status": campaign_status(campaign, short).to_dict(),
        "state": campaign.state,
        "progress": labelled_of(labels["labelled"], labels["triplets"]),
        **question_counts(campaign),
        **hit_counts(campaign),
        "hits_by_state": hits_by_state(campaign, clock()),
        **assignments,
        **labels,
        "triplets_published": triplets_published(campaign),
        **_span(campaign),
        **vote_counts(campaign, pairs),
        "pairs": int(pairs.sum()),
        "agreement": asdict(estimate(pairs, observed)),
        "kappa": asdict(estimate(pairs, kappa)),
        "control_failures": share(assignments["failed_controls"], assignments["reviewed"]),
        **trouble_counts(campaign),
        "blockers": [one.to_dict() for one in blockers(campaign, clock=clock, left=left)],
        "stranded": asdict(left),
        "outlook": asdict(outlook(campaign)),
        "prolonging": asdict(most_prolonging(campaign)),
        "shortage": short and asdict(short),
        "hits_of_versions": hits_of_versions(campaign),
        **plan_figures(campaign),
        **sums,
        "label_cents": rounded(sums["spent_cents"] / labels["labelled"])
        if labels["labelled"]
        else None,
    }


def _pairs(campaign: Campaign) -> Pairs:
    rows = tallies_of(campaign, TripletTally).order_by().values_list("query_id", "pair")
    counted = rows.annotate(Count("pk")).iterator(chunk_size=ROWS)
    return pairs_of({(query, pair): triplets for query, pair, triplets in counted})


class _Kind(NamedTuple):
    rank: int
    status: str
    label: int | None
    votes: int
    cannot_judge: int


def _labels(campaign: Campaign) -> Figures:
    """All that is asked of the triplets, from what is alike among them."""
    rows = TripletCount.objects.filter(campaign=campaign).order_by()
    alike = rows.values_list(*_Kind._fields).annotate(Sum("more"))
    kinds = {_Kind(*kind): count for *kind, count in alike if count}
    statuses, ranks, positives, votes = (Counter[Any]() for _ in range(4))
    unjudged = cannot_judge = 0
    for kind, count in kinds.items():
        statuses[kind.status] += count
        votes[kind.votes] += count
        unjudged += count * (not kind.votes and not kind.cannot_judge)
        cannot_judge += count * kind.cannot_judge
        ranks[kind.rank] += count * (kind.label is not None)
        positives[kind.rank] += count * (kind.label == 1)
    return {
        "triplets": statuses.total(),
        "judged": statuses.total() - unjudged,
        "labelled": statuses["labelled"],
        "open": statuses["open"],
        "unresolved": statuses["unresolved"],
        "positive": positives.total(),
        "cannot_judge": cannot_judge,
        "positives_by_rank": [[rank, ranks[rank], positives[rank]] for rank in sorted(ranks)],
        "votes_per_triplet": [votes[each] for each in range(max(votes, default=-1) + 1)],
    }


def share(part: int, whole: int) -> Figures:
    """With Wilson's interval."""
    if not whole:
        return {"value": None, "low": None, "high": None}
    low, high = wilson_interval(part, whole)
    return {"value": rounded(part / whole), "low": rounded(low), "high": rounded(high)}


def _rates_and_eta(campaign: Campaign, figures: Figures, now: datetime) -> Figures:
    """What came of late, from the snapshots of that time and what is counted now."""
    before = series(campaign, points=READINGS, since=now - RECENT)
    past = [(one.at, one.figures) for one in before if one.at < now]
    counted = [*past, (now, figures)]

    def rate(done: Callable[[Figures], int]) -> Rate | None:
        readings = [Reading(at.timestamp() / 3600, done(then)) for at, then in counted]
        return rate_of(readings)

    rates = {name: rate(itemgetter(name)) for name in RATED}
    comes = figures["open"] and not figures["stranded"]["assignments"]
    decided = rate(lambda then: int(then["triplets"] - then["open"]))
    ahead = eta(figures["open"], decided) if comes else None
    return {
        "rates": {name: one and rounded(one.per_hour) for name, one in rates.items()},
        "eta": asdict(ahead) if ahead else None,
    }


def _span(campaign: Campaign) -> dict[str, str | None]:
    ends = {
        "began": campaign.hits.aggregate(at=Min("published_at")),
        "ended": Assignment.objects.filter(hit__campaign=campaign).aggregate(
            at=Max("submitted_at")
        ),
    }
    return {name: one["at"] and one["at"].isoformat() for name, one in ends.items()}


def _downsample(campaign: Campaign, now: datetime) -> None:
    rows: QuerySet[Snapshot] = campaign.snapshots.filter(at__lte=now).order_by("at", "pk")
    known = list(rows.values_list("at", "pk"))
    drop = superfluous([at for at, _ in known], now)
    if drop:
        campaign.snapshots.filter(pk__in=[known[place][1] for place in drop]).delete()
