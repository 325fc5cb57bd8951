"""HITs that are not for this member, though the crowd gives them out."""

import pytest
from django.test import Client
from django.utils import timezone

from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.models import Member, PostedHit
from annotation.models import Assignment, Exclusion, Hit, HitItem, Worker
from tests.annotation.web.stage import hit_at, offer_hits, start, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def hits(db: None) -> list[Hit]:
    return offer_hits(hits=3)


def exclude(member: Member, hit: Hit) -> None:
    worker, _ = Worker.objects.get_or_create(crowd="inhouse", worker_id=member.worker_id)
    Exclusion.objects.create(campaign=hit.campaign, worker=worker, failures=3, reviewed=10)


def exclude_from(member: Member, hit: Hit) -> None:
    """What the next pass tells the crowd."""
    InhouseCrowd().exclude(member.worker_id, exclusion_id=hit.campaign.exclusion_id)


def test_who_was_excluded_meanwhile_reads_why_and_can_give_it_back(
    hits: list[Hit], adas: Client, ada: Member
) -> None:
    address = start(adas)
    exclude(ada, hits[0])
    refused = adas.get(address)
    assert refused.status_code == 403
    assert "3 of your first 10 tasks failed their check questions" in text(refused)
    assert f'action="{address}/return"' in refused.content.decode()
    exclude_from(ada, hits[0])
    assert adas.post(f"{address}/return")["Location"] == "/work"


def test_who_is_excluded_from_one_campaign_gives_its_hit_back_for_another_s(
    adas: Client, ada: Member
) -> None:
    (fish,) = offer_hits("fish")
    (bird,) = offer_hits("birds")
    exclude(ada, fish)
    exclude_from(ada, fish)
    assert hit_at(start(adas)) == bird


def test_who_has_judged_a_triplet_elsewhere_reads_so_before_the_work_and_gets_another_hit(
    hits: list[Hit], adas: Client, ada: Member
) -> None:
    worker = Worker.objects.create(crowd="inhouse", worker_id=ada.worker_id)
    for number, hit in enumerate(hits[:2]):
        judge_elsewhere(hit, worker, number)
    address = start(adas)
    for _ in hits:  # in whatever order they come
        if hit_at(address) == hits[2]:
            break
        refused = adas.get(address)
        assert refused.status_code == 403
        assert "You have judged some of these questions before" in text(refused)
        address = adas.post(f"{address}/return")["Location"]
    assert adas.get(address).status_code == 200
    assert hit_at(address) == hits[2]


def judge_elsewhere(hit: Hit, worker: Worker, number: int) -> None:
    """The worker has submitted another HIT that holds one of this HIT's triplets."""
    now = timezone.now()
    earlier = Hit.objects.create(
        campaign=hit.campaign,
        key=f"earlier-{number}",
        number=100 + number,
        seed=1,
        instructions=hit.instructions,
        max_assignments=1,
        price_cents=0,
    )
    triplet = hit.items.exclude(triplet=None).first().triplet
    HitItem.objects.create(hit=earlier, position=0, key=f"early{number}", triplet=triplet)
    Assignment.objects.create(
        hit=earlier,
        worker=worker,
        crowd_id=f"W{number}",
        accepted_at=now,
        submitted_at=now,
        answers={},
    )


def test_a_hit_whose_campaign_is_gone_says_so_and_can_be_given_back(
    hits: list[Hit], adas: Client
) -> None:
    PostedHit.objects.update(annotation="of-another-database")
    address = start(adas)
    refused = adas.get(address)
    assert refused.status_code == 403
    assert "Its campaign no longer exists" in text(refused)
    assert adas.post(f"{address}/return").status_code == 303
