"""A campaign goes its whole way with a team of its own."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from annotation.analytics.campaign.progress import progress
from annotation.crowd.factory import site_of
from annotation.crowd.inhouse import assignments, visits
from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.models import Assignment, Member
from annotation.models import Campaign, Hit
from annotation.pipeline.advance import Pass, advance
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.publish import publish
from annotation.protocol.policy.crowds import INHOUSE, PANEL, CrowdTraits
from tests.worlds.small_campaign import QUERIES, Judge, packed_campaign, sheet_of

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]


class Office:
    """A published campaign and the members who work on it."""

    def __init__(self, folder: Path, traits: CrowdTraits = INHOUSE, **policy: object) -> None:
        self.campaign: Campaign = packed_campaign(folder, **{**traits.defaults(), **policy})
        self.crowd = InhouseCrowd(site_of(traits.kind))
        publish(self.campaign, self.crowd)
        self.published = deliver(self.campaign, self.crowd)
        self._links = []
        if traits is PANEL:
            now, hit_type = timezone.now(), self.campaign.hit_type_id
            self._links = [visits.open_link(hit_type, "sona", tasks=100, now=now)]

    def member(self, name: str) -> Member:
        for link in self._links:
            mine = link.visits.filter(member__participant__external_id=name)
            before = mine.exclude(finished_at=None).count()  # each task is a visit of its own
            person = visits.Person(name, f"{name} {before}")
            return visits.arrive(link, person, now=timezone.now()).member
        user, _ = User.objects.get_or_create(username=name)
        return Member.objects.get_or_create(user=user, defaults={"joined_at": timezone.now()})[0]

    def hit(self, number: int) -> Hit:
        return self.campaign.hits.get(number=number)

    def take(self, name: str, number: int) -> Assignment | None:
        """Skips whatever else comes, as long as it is new."""
        skipped: set[int] = set()
        while (work := assignments.take(self.member(name), now=timezone.now())) is not None:
            if work.posted_hit.hit_id == self.hit(number).crowd_id:
                return work
            assignments.give_back(self.member(name), work.assignment_id, now=timezone.now())
            if work.posted_hit_id in skipped:
                return None
            skipped.add(work.posted_hit_id)
        return None

    def work(self, name: str, number: int, real: int | Judge = 0, *, slips: int = 0) -> str:
        work = self.take(name, number)
        assert work is not None, f"{name} cannot get HIT {number}"
        sheet = sheet_of(self.hit(number), real, slips=slips)
        assignments.submit(self.member(name), work.assignment_id, sheet, now=timezone.now())
        if work.visit:
            visits.finish(work.visit, now=timezone.now())
        return work.assignment_id

    def advance(self) -> Pass:
        return advance(self.campaign, self.crowd)


def truth(query: str, rank: int) -> int:
    return int(rank <= 2)


@pytest.mark.usefixtures("small_database")
@pytest.mark.parametrize(("traits", "reward"), [(INHOUSE, 0), (INHOUSE, 15), (PANEL, 15)])
def test_people_on_this_site_take_a_campaign_from_its_triplets_to_its_labels(
    tmp_path: Path, traits: CrowdTraits, reward: int
) -> None:
    """Bob dissents once, eve fails two HITs of three, cara breaks the tie and does eve's work."""
    office = Office(tmp_path, traits, reward_cents=reward)
    assert office.published.sent == 5
    rows = office.hit(2).items.exclude(triplet=None).select_related("triplet__candidate__query")
    triplets = [(row.triplet.candidate.query.key, row.triplet.candidate.rank) for row in rows]
    disputed = next(triplet for triplet in triplets if not truth(*triplet))
    for number in range(1, 6):
        office.work("ada", number, truth)
    office.work("bob", 1, truth)
    office.work("bob", 2, lambda *triplet: 1 if triplet == disputed else truth(*triplet))
    office.work("eve", 3, 1)
    failed = {office.work("eve", 4, slips=1), office.work("eve", 5, slips=2)}

    first = office.advance()
    assert (first.new, first.passed, first.failed, first.excluded) == (10, 8, 2, 1)
    assert (first.labelled, first.open, first.assignments_requested, first.finished) == (
        9,
        16,
        4,
        False,
    )
    rejected = Assignment.objects.filter(status=Assignment.Status.REJECTED)
    assert set(rejected.values_list("assignment_id", flat=True)) == failed
    eve = office.member("eve")
    assert assignments.take(eve, now=timezone.now()) is None
    assert assignments.open_queues(eve, now=timezone.now()) == []

    for number in range(2, 6):
        office.work("cara", number, truth)
    second = office.advance()
    assert (second.new, second.passed, second.assignments_requested, second.finished) == (
        4,
        4,
        0,
        True,
    )
    labels = office.campaign.triplets.values_list(
        "candidate__query__key", "candidate__rank", "label"
    )
    assert {(query, rank): label for query, rank, label in labels} == {
        (query, rank): truth(query, rank) for query in QUERIES for rank in range(1, 6)
    }
    found = progress(office.campaign)
    assert (found["approved"], found["rejected"], found["spent_cents"]) == (12, 2, 12 * reward)
    assert assignments.tally(office.member("ada")).earned_cents == 5 * reward


@pytest.mark.usefixtures("small_database")
def test_tied_triplets_are_repacked_for_members_who_have_not_judged_them(tmp_path: Path) -> None:
    office = Office(tmp_path, tie_mode="repack")
    office.work("ada", 1, 0)
    office.work("bob", 1, 1)
    for name in ("cara", "dan"):
        office.work(name, 2, 0)
    office.advance()
    repacked = office.campaign.hits.get(repack=True).number
    names = ("ada", "bob", "cara", "newcomer")
    found = {name: office.take(name, repacked) is not None for name in names}
    assert found == {"ada": False, "bob": False, "cara": True, "newcomer": False}
    office.work("cara", repacked, 1)
    assert office.advance().labelled == 10


@pytest.mark.usefixtures("small_database")
def test_control_characters_in_answers_do_not_stop_a_pass(tmp_path: Path) -> None:
    office = Office(tmp_path, candidates_per_query=1)
    work = office.take("eve", 1)
    assert work is not None
    sheet = {"item-\x00": "\x00", "report-text": "\ud800\x00"}
    assignments.submit(office.member("eve"), work.assignment_id, sheet, now=timezone.now())
    assert office.advance().failed == 1
