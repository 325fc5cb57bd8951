"""A reader of everything on a HIT page but its texts cannot tell the controls."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from numpy.typing import NDArray
from pytest_django import Settings

from annotation.crowd.hit_url import hit_url
from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.models import Assignment, Member, PostedHit
from annotation.models import Campaign, Hit, HitItem
from annotation.pipeline.outbox.hit_type import hit_type
from annotation.protocol.policy.crowds import INHOUSE
from tests.annotation.support.item_markup import items_of, without_texts
from tests.support.pages import Response
from tests.worlds.wide_campaign import wide_campaign

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

HITS = 1_000
LEAKING = 100  # enough to find a leak in
EMULATOR = "http://127.0.0.1:8089"
# What a text brings with it: the words that differ are marked, a long answer is folded.
TEXT_ELEMENTS = {"mark", "details", "summary", "span"}

Features = NDArray[np.float64]


@pytest.fixture
def campaign(tmp_path: Path, settings: Settings) -> Campaign:
    settings.INDEX_DIR = tmp_path / "index"
    settings.MTURK_ENDPOINT = EMULATOR
    campaign, hits = wide_campaign(tmp_path, queries=200, candidates=25, **INHOUSE.defaults())
    assert hits == HITS
    return campaign


@pytest.fixture
def member(db: None) -> Member:
    user = User.objects.create_user("ada")
    return Member.objects.create(user=user, joined_at=timezone.now())


@dataclass
class Readers:
    """Half of the HITs are read on the frame's page, half on the page of a member of the team."""

    client: Client
    member: Member
    offers: Mapping[str, PostedHit]  # of the HITs with even numbers, by the HIT's key

    def page(self, hit: Hit) -> Response:
        offer = self.offers.get(hit.key)
        return self._framed(hit) if offer is None else self._taken(offer)

    def _framed(self, hit: Hit) -> Response:
        path = "/" + hit_url(hit.key).partition("//")[2].partition("/")[2]
        worker = {"assignmentId": f"3A{hit.number}", "hitId": f"3H{hit.number}", "workerId": "AADA"}
        return self.client.get(path, worker)

    def _taken(self, offer: PostedHit) -> Response:
        now = timezone.now()
        work = Assignment.objects.create(
            posted_hit=offer, member=self.member, accepted_at=now, deadline=now + timedelta(hours=1)
        )
        page = self.client.get(f"/work/{work.assignment_id}")
        work.delete()
        return page


@pytest.fixture
def readers(campaign: Campaign, client: Client, member: Member) -> Readers:
    client.force_login(member.user)
    crowd = InhouseCrowd()
    exclusion = crowd.create_qualification("out", "Excluded.")
    kind = crowd.create_hit_type(hit_type(campaign.policy, exclusion))
    taken = [hit.key for hit in campaign.hits.all() if hit.number % 2 == 0]
    for key in taken:
        crowd.create_hit(
            hit_type_id=kind,
            url="",
            max_assignments=2,
            lifetime_seconds=3600,
            token=key,
            annotation=key,
        )
    return Readers(client, member, {offer.annotation: offer for offer in PostedHit.objects.all()})


def read_pages(
    readers: Readers, campaign: Campaign, *, hits: int = HITS
) -> tuple[Features, Features, Features]:
    """Features of the first hits' items, whether each is a control, and the HIT it stands in."""
    controls = set(
        HitItem.objects.filter(hit__campaign=campaign)
        .exclude(control=None)
        .values_list("key", flat=True)
    )
    rows: list[list[float]] = []
    truth: list[bool] = []
    groups: list[int] = []
    for hit in campaign.hits.order_by("number")[:hits]:
        for key, features in read_page(readers.page(hit)):
            rows.append(features)
            truth.append(key in controls)
            groups.append(hit.number)
    return np.array(rows), np.array(truth), np.array(groups)


def read_page(response: Response) -> list[tuple[str, list[float]]]:
    assert response.status_code == 200
    bare = without_texts(response.content.decode())
    assert bare.left_out <= TEXT_ELEMENTS
    items = items_of(bare)
    assert len(items) == 7
    return items


def area_under_curve(features: Features, truth: Features, groups: Features) -> float:
    """Of predictions for HITs that the trees have not seen; 0.5 is a coin."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415
    from sklearn.model_selection import GroupKFold, cross_val_predict  # noqa: PLC0415

    report = features[:, (features != features[0]).any(axis=0)]
    trees = HistGradientBoostingClassifier(max_iter=20, random_state=1)
    guesses = cross_val_predict(
        trees, report, truth, groups=groups, cv=GroupKFold(3), method="predict_proba"
    )
    return float(roc_auc_score(truth, guesses[:, 1]))


def lead_with_controls(campaign: Campaign) -> None:
    """The planted leak: both controls of each HIT stand first; keys stay with their places."""
    changed: list[HitItem] = []
    for hit in campaign.hits.filter(number__lte=LEAKING).prefetch_related("items"):
        items = sorted(hit.items.all(), key=lambda item: item.position)
        contents = [(item.triplet_id, item.control_id) for item in items]
        contents.sort(key=lambda content: content[1] is None)
        for item, content in zip(items, contents, strict=True):
            item.triplet_id, item.control_id = content
        changed += items
    HitItem.objects.bulk_update(changed, ["triplet", "control"], batch_size=500)


def test_trees_cannot_tell_the_controls_of_1000_hits_unless_their_places_do(
    campaign: Campaign, readers: Readers
) -> None:
    features, truth, groups = read_pages(readers, campaign)
    assert len(readers.offers) == HITS / 2
    assert features.shape[0] == 7 * HITS
    assert truth.sum() == 2 * HITS
    fair = area_under_curve(features, truth, groups)
    assert 0.47 < fair < 0.53
    lead_with_controls(campaign)
    leaking, truth, groups = read_pages(readers, campaign, hits=LEAKING)
    assert area_under_curve(leaking, truth, groups) > 0.9
