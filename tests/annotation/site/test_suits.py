"""HITs that are not for this member, though the crowd gives them out."""

import pytest
from django.test import Client
from django.utils import timezone

from annotation.crowd.inhouse.models import Member, Offer, Work
from annotation.models import Assignment, Exclusion, Hit, HitItem, Worker
from tests.annotation.site.stage import hit_at, offer_hits, sheet, start, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def hits(db: None) -> list[Hit]:
    return offer_hits(hits=3)


def exclude(member: Member, hit: Hit) -> None:
    worker, _ = Worker.objects.get_or_create(crowd="inhouse", worker_id=member.worker_id)
    Exclusion.objects.create(campaign=hit.campaign, worker=worker, failures=3, reviewed=10)


def test_who_was_shut_out_meanwhile_reads_why_and_can_give_it_back(
    hits: list[Hit], adas: Client, ada: Member
) -> None:
    address = start(adas)
    exclude(ada, hits[0])
    refused = adas.get(address)
    assert refused.status_code == 403
    assert "3 of your first 10 HITs failed their check questions" in text(refused)
    assert f'action="{address}/return"' in refused.content.decode()
    assert adas.post(f"{address}/return")["Location"] == "/work"


def test_who_is_shut_out_of_one_campaign_gets_hits_of_the_others(adas: Client, ada: Member) -> None:
    (fish,) = offer_hits("fish")
    (bird,) = offer_hits("birds")
    exclude(ada, fish)
    assert hit_at(start(adas)) == bird


def test_who_has_judged_a_triplet_elsewhere_gets_another_hit(
    hits: list[Hit], adas: Client, ada: Member
) -> None:
    known, _, suited = hits
    worker = Worker.objects.create(crowd="inhouse", worker_id=ada.worker_id)
    now = timezone.now()
    for number, hit in enumerate(hits[:2]):
        earlier = Hit.objects.create(
            campaign=hit.campaign,
            key=f"earlier-{number}",
            number=100 + number,
            seed=1,
            instructions=hit.instructions,
            places=1,
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
    address = start(adas)
    assert hit_at(address) == suited
    assert adas.post(address, sheet(suited))["Location"] == "/work"
    assert not Work.objects.filter(member=ada, offer__annotation=known.key, status="accepted")


def test_a_hit_whose_campaign_is_gone_is_passed_over(hits: list[Hit], adas: Client) -> None:
    Offer.objects.filter(annotation=hits[0].key).update(annotation="of-another-database")
    Offer.objects.filter(annotation=hits[1].key).update(annotation="of-a-third")
    assert hit_at(start(adas)) == hits[2]
