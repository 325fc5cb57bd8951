"""Copy the crowd's record of handed-in work: the only source of votes."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Count

from annotation.crowd.base import Crowd, Submission
from annotation.models import Assignment, Campaign, Hit, Worker
from retrieval.progress import Progress, no_progress

CROWD = "mturk"


def collect(campaign: Campaign, crowd: Crowd, *, progress: Progress = no_progress) -> int:
    """Store every assignment not stored yet; how many were new."""
    published = campaign.hits.exclude(crowd_id=None).annotate(stored=Count("assignments"))
    ours = {hit.crowd_id: hit for hit in published}
    new = 0
    for theirs in crowd.hits():
        hit = ours.get(theirs.hit_id)
        if hit and theirs.expires_at != hit.expires_at:
            # Somebody may have prolonged it at the crowd.
            Hit.objects.filter(pk=hit.pk).update(expires_at=theirs.expires_at)
        # Only HITs that the crowd says hold more than is stored cost a call of their own.
        if hit is not None and theirs.handed_in > hit.stored:
            # Read to the end first: no call to the crowd is made inside a transaction.
            new += store(hit, list(crowd.submissions(theirs.hit_id)))
            progress(1)
    return new


@transaction.atomic
def store(hit: Hit, submissions: Iterable[Submission]) -> int:
    """Add what is not there yet; what is there already stays as it was read first."""
    Hit.objects.select_for_update().get(pk=hit.pk)  # two collectors at once take turns
    known = set(hit.assignments.values_list("crowd_id", flat=True))
    new = [submission for submission in submissions if submission.assignment_id not in known]
    Assignment.objects.bulk_create([_assignment(hit, submission) for submission in new])
    return len(new)


def _assignment(hit: Hit, submission: Submission) -> Assignment:
    worker, _ = Worker.objects.get_or_create(crowd=CROWD, worker_id=submission.worker_id)
    return Assignment(
        hit=hit,
        worker=worker,
        crowd_id=submission.assignment_id,
        status=submission.status,
        accepted_at=submission.accepted_at,
        submitted_at=submission.submitted_at,
        answers=dict(submission.answers),
    )
