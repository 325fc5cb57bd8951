"""A campaign as the database has it in the middle of its life, without a crowd."""

from django.utils import timezone

from annotation.models import Account, Assignment, Campaign, ExpertLabel, Hit, Judgment, Worker
from annotation.pipeline.ledger.reservations import set_budget
from annotation.protocol.policy.policy import Policy
from tests.annotation.support.hits import make_campaign, make_hit

BUDGET_CENTS = 10_000


def campaign_at_work(name: str = "faq", *, hits: int = 1, workers: int = 1) -> Campaign:
    """So many HITs, each submitted by each of the workers; an expert has labelled one triplet."""
    campaign = make_campaign(name, **Policy().to_dict())
    Account.objects.create(campaign=campaign)
    set_budget(campaign, BUDGET_CENTS)
    people = [
        Worker.objects.get_or_create(crowd="mturk", worker_id=f"{name}-worker-{number}")[0]
        for number in range(workers)
    ]
    for _ in range(hits):
        hit = make_hit(campaign, real=[(f"query {campaign.hits.count()}", "question", "answer")])
        for worker in people:
            submit(hit, worker)
    triplet = campaign.triplets.earliest("pk")
    ExpertLabel.objects.create(
        triplet=triplet,
        expert="cleo",
        label=1,
        source=ExpertLabel.Source.ADJUDICATION,
        adjudicated=True,
    )
    campaign.triplets.filter(pk=triplet.pk).update(
        status="labelled", label=1, votes=2, positive_votes=2
    )
    return campaign


def submit(hit: Hit, worker: Worker) -> Assignment:
    now = timezone.now()
    work = Assignment.objects.create(
        hit=hit,
        worker=worker,
        crowd_id=f"{hit.key}-{worker.worker_id}",
        accepted_at=now,
        submitted_at=now,
        answers={},
        passed=True,
        status=Assignment.Status.APPROVED,
    )
    Judgment.objects.bulk_create(
        Judgment(assignment=work, item=item, triplet=item.triplet, worker=worker, value=1)
        for item in hit.items.all()
    )
    return work
