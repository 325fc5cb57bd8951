"""The judge of a finished campaign: the crowd's own records against our database.

duplicates    the crowd has two HITs with one RequesterAnnotation of ours, or one we do not know
votes         each answer submitted there is stored here, once, and nothing else is
decisions     each assignment is approved or rejected, as its controls want, and we know which
workers       nobody has submitted two HITs that hold the same triplet
labels        each triplet's votes, label and status, and who is excluded, are what the
              protocol makes of the crowd's records (`verdict`); no vote is missing
purchases     each place asked for is one that the rules ask for (`purchases`): no surplus
money         the ledger is the crowd's money, to the cent (`money`)
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from annotation.models import Assignment, Campaign, Hit, Judgment, Triplet
from tests.chaos.money import money_faults
from tests.chaos.purchases import wrong_purchases
from tests.chaos.record import Record, Work, read_record
from tests.chaos.verdict import Verdict


def audit(state: Path, campaign: Campaign) -> list[str]:
    """A sentence for each violation. Reads the emulator's file and our database, writes nothing."""
    return audit_record(read_record(state, campaign), campaign)


def audit_record(record: Record, campaign: Campaign) -> list[str]:
    """The same by the record of whatever crowd it was."""
    campaign = Campaign.objects.get(pk=campaign.pk)
    verdict = Verdict(record, campaign.policy, restored_workers(campaign))
    found = [*_hits(record, campaign), *_works(record, campaign), *_decisions(verdict)]
    found += _votes(record, campaign)
    twice = list(_workers_twice(record))
    found += twice
    if not twice:  # else the protocol has no verdict
        found += [*_exclusions(verdict, campaign), *_labels(verdict, campaign)]
    return [*found, *wrong_purchases(verdict), *money_faults(verdict, campaign)]


def restored_workers(campaign: Campaign) -> set[str]:
    """Whom a person has taken back: the one decision that no rule makes."""
    rows = campaign.exclusions.exclude(restored_at=None)
    return set(rows.values_list("worker__worker_id", flat=True))


def _hits(record: Record, campaign: Campaign) -> Iterator[str]:
    times = Counter(hit.key for hit in record.hits)
    for key, count in times.items():
        if count > 1:
            yield f"The crowd has {count} HITs for our HIT {key}."
        if key not in record.items:
            yield f"The crowd has HIT {key}, which is none of ours."
    ids = {hit.key: hit.hit_id for hit in record.hits}
    for key, crowd_id in Hit.objects.filter(campaign=campaign).values_list("key", "crowd_id"):
        if key not in ids:
            yield f"HIT {key} is not at the crowd."
        elif times[key] == 1 and crowd_id != ids[key]:
            yield f"HIT {key} is {ids[key]} at the crowd, here it is {crowd_id}."


def _works(record: Record, campaign: Campaign) -> Iterator[str]:
    rows = Assignment.objects.filter(hit__campaign=campaign)
    stored = {work.crowd_id: work for work in rows.select_related("hit", "worker")}
    for theirs in record.works:
        ours = stored.pop(theirs.assignment_id, None)
        if ours is None:
            yield f"Assignment {theirs.assignment_id} was submitted and is not stored."
            continue
        here = (ours.hit.key, ours.worker.worker_id, ours.status, ours.answers, ours.passed)
        there = (theirs.hit, theirs.worker, theirs.status, theirs.fields, theirs.passed)
        names = ("HIT", "worker", "status", "answers", "review")
        for name, mine, right in zip(names, here, there, strict=True):
            if mine != right:
                yield (
                    f"Assignment {theirs.assignment_id} is stored with the {name} {mine}, "
                    f"at the crowd it is {right}."
                )
    for crowd_id in stored:
        yield f"Assignment {crowd_id} is stored, but nobody has submitted it."


def _decisions(verdict: Verdict) -> Iterator[str]:
    rejects = verdict.policy.on_failed_control == "reject"
    for work in verdict.record.works:
        if work.status == "submitted":
            yield f"Assignment {work.assignment_id} is neither approved nor rejected."
        elif work.status == "rejected" and (work.passed or not rejects):
            yield f"Assignment {work.assignment_id} is rejected, but its work was to be paid."
        elif work.status == "approved" and rejects and not (work.passed or work.by_timeout):
            yield f"Assignment {work.assignment_id} is approved, but its controls are wrong."


def _votes(record: Record, campaign: Campaign) -> Iterator[str]:
    """Controls are judged too, and answers of failed work are kept."""
    rows = Judgment.objects.filter(assignment__hit__campaign=campaign)
    columns = "assignment__crowd_id", "item__key", "value", "triplet_id", "worker__worker_id"
    stored = {(work, item): rest for work, item, *rest in rows.values_list(*columns)}
    for work in record.works:
        for item, right in _answers(record, work).items():
            ours = stored.pop((work.assignment_id, item), None)
            named = f"The answer of {work.worker} to item {item} of HIT {work.hit}"
            if ours is None:
                yield f"{named} is lost."
            elif ours != right:
                yield f"{named} is stored as {ours}, it is {right}."
    for work_id, item in stored:
        yield f"An answer to item {item} is stored that assignment {work_id} does not hold."


def _answers(record: Record, work: Work) -> dict[str, list[object]]:
    items = record.items[work.hit]
    return {key: [value, items[key].triplet, work.worker] for key, value in work.answers.items()}


def _workers_twice(record: Record) -> Iterator[str]:
    times = Counter(
        (work.worker, item.triplet)
        for work in record.works
        for item in record.items[work.hit].values()
        if item.triplet is not None
    )
    for (worker, triplet), count in times.items():
        if count > 1:
            yield f"Worker {worker} has judged triplet {triplet} {count} times."


def _exclusions(verdict: Verdict, campaign: Campaign) -> Iterator[str]:
    rows = campaign.exclusions.filter(restored_at=None)
    ours = set(rows.values_list("worker__worker_id", flat=True))
    for worker in sorted(verdict.excluded - ours):
        yield f"Worker {worker} failed too often and is not excluded."
    for worker in sorted(ours - verdict.excluded):
        yield f"Worker {worker} is excluded without having failed too often."


def _labels(verdict: Verdict, campaign: Campaign) -> Iterator[str]:
    packed = set(verdict.triplets)
    for row in Triplet.objects.filter(campaign=campaign).order_by("pk"):
        if row.pk not in packed:
            yield f"Triplet {row.pk} is in no HIT."
            continue
        votes = verdict.votes.get(row.pk, ())
        label = verdict.label(row.pk)
        if label.wanted:
            yield f"Triplet {row.pk} has the votes {list(votes)}: {label.wanted} more are missing."
        stored = row.status, row.label, row.votes, row.positive_votes
        right = label.status, label.value, len(votes), sum(votes)
        if stored != right:
            yield f"Triplet {row.pk} is stored as {stored}, its votes make {right}."
