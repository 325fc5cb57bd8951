from collections.abc import Iterator

import pytest

from annotation.crowd.port import CrowdError, CrowdHit, Submission
from annotation.models import Assignment, Worker
from annotation.pipeline.advance import advance
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.setup.create import get_campaign
from core.errors import UserError
from tests.conftest import SetStage, StartMTurk
from tests.support.threads import together
from tests.worlds.mturk import LentCrowd
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db


class CountingCrowd(LentCrowd):
    """The real adapter, which remembers whose submissions were asked for."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self.asked: list[str] = []

    def submissions(self, hit_id: str) -> Iterator[Submission]:
        self.asked.append(hit_id)
        return super().submissions(hit_id)


def test_submissions_are_stored_as_the_crowd_records_them(one_hit: Stage) -> None:
    done = one_hit.work("ada", 1, 1)
    assert fetch_submissions(one_hit.campaign, one_hit.mturk.crowd).new == 1
    stored = Assignment.objects.get()
    assert (stored.crowd_id, stored.worker.worker_id, stored.status) == (done, "AADA", "submitted")
    assert stored.answers == one_hit.sheet(1, 1)
    assert stored.passed is None
    times = "SELECT accepted_at, submitted_at FROM assignments"
    ((accepted, submitted),) = one_hit.mturk.rows(times)
    assert stored.accepted_at.timestamp() == pytest.approx(accepted, abs=1e-3)
    assert stored.submitted_at.timestamp() == pytest.approx(submitted, abs=1e-3)


def test_what_is_accepted_or_given_back_is_no_submission(one_hit: Stage) -> None:
    one_hit.accept("ada", 1)
    given_back = one_hit.accept("bob", 1)
    assert given_back
    one_hit.mturk.person("bob").give_back(given_back)
    assert fetch_submissions(one_hit.campaign, one_hit.mturk.crowd).new == 0


def test_only_what_is_new_is_fetched(stage: Stage) -> None:
    stage.publish()
    crowd = CountingCrowd(stage.mturk.url)
    stage.work("ada", 2)
    assert fetch_submissions(stage.campaign, crowd).new == 1
    assert fetch_submissions(stage.campaign, crowd).new == 0
    stage.work("bob", 4)
    assert fetch_submissions(stage.campaign, crowd).new == 1
    assert crowd.asked == [stage.hit(2).crowd_id, stage.hit(4).crowd_id]


def test_what_was_read_before_the_list_of_hits_broke_off_is_stored(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.publish()
    stage.work("ada", 1)
    stage.work("bob", 2)
    monkeypatch.setattr("annotation.pipeline.outbox.threads.CALLS_A_THREAD", 1)

    class BrokenList(LentCrowd):
        def hits(self) -> Iterator[CrowdHit]:
            yield from super().hits()
            raise CrowdError("not now", permanent=False)

    with pytest.raises(CrowdError):
        fetch_submissions(stage.campaign, BrokenList(stage.mturk.url), threads=1)
    assert Assignment.objects.count() == 2


def test_collecting_twice_adds_nothing(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    stage.work("bob", 1)
    assert [fetch_submissions(stage.campaign, stage.mturk.crowd).new for _ in range(2)] == [2, 0]
    assert (Assignment.objects.count(), Worker.objects.count()) == (2, 2)


def test_a_worker_is_one_row_whatever_they_do(stage: Stage) -> None:
    stage.publish()
    for number in range(1, 6):
        stage.work("ada", number)
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    assert Worker.objects.get().assignments.count() == 5


def test_hits_of_other_campaigns_are_left_alone(set_stage: SetStage) -> None:
    first, second = set_stage("first"), set_stage("second")
    for stage in (first, second):
        stage.publish()
    second.work("ada", 1)
    crowd = CountingCrowd(first.mturk.url)
    assert fetch_submissions(first.campaign, crowd).new == 0
    assert crowd.asked == []


def test_more_submissions_than_a_page_holds_are_all_collected(set_stage: SetStage) -> None:
    """A hundred assignments and one more for a failed one: two pages of MTurk's."""
    stage = set_stage(candidates_per_query=1, annotators=100, max_votes=100)
    stage.publish()
    for number in range(99):
        stage.work(f"ada{number}", 1)
    stage.work("eve", 1, slips=1)
    assert stage.advance().assignments_requested == 1
    stage.work("cara", 1)
    assert stage.advance().new == 1
    assert Assignment.objects.count() == 101
    assert set(stage.labels().values()) == {0}


@pytest.mark.django_db(transaction=True)
def test_two_who_collect_at_once_store_each_submission_once(stage: Stage) -> None:
    stage.publish()
    for name in ("ada", "bob"):
        for number in range(1, 6):
            stage.work(name, number)

    def collect_too() -> int:
        return fetch_submissions(get_campaign(stage.campaign.name), stage.mturk.crowd).new

    assert sum(together(collect_too, collect_too)) == 10
    assert Assignment.objects.count() == 10


def test_an_unpublished_campaign_has_nothing_to_collect(stage: Stage) -> None:
    with pytest.raises(UserError, match=r"faq is not published: run `quorum campaign publish"):
        stage.advance()


def test_another_endpoint_holds_none_of_the_work(stage: Stage, start_mturk: StartMTurk) -> None:
    stage.publish()
    with pytest.raises(UserError, match="set AWS_ENDPOINT_URL_MTURK back"):
        advance(stage.campaign, start_mturk().crowd)


def test_progress_counts_the_hits_read(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    stage.work("ada", 2)
    steps: list[int] = []
    fetch_submissions(stage.campaign, stage.mturk.crowd, progress=steps.append)
    assert sum(steps) == 2


class FaultyCrowd(LentCrowd):
    """The real adapter, which cannot read one HIT."""

    def __init__(self, endpoint: str, hit_id: str, *, permanent: bool) -> None:
        super().__init__(endpoint)
        self._hit_id = hit_id
        self._permanent = permanent

    def submissions(self, hit_id: str) -> Iterator[Submission]:
        if hit_id == self._hit_id:
            raise CrowdError("not this one", permanent=self._permanent)
        return super().submissions(hit_id)


def half_readable(stage: Stage, *, permanent: bool) -> FaultyCrowd:
    """Two HITs with work, of which the crowd gives one."""
    stage.publish()
    for number in (1, 2):
        stage.work("ada", number)
    return FaultyCrowd(stage.mturk.url, str(stage.hit(1).crowd_id), permanent=permanent)


def test_a_hit_that_cannot_be_read_keeps_no_other_work_waiting(stage: Stage) -> None:
    crowd = half_readable(stage, permanent=True)
    assert fetch_submissions(stage.campaign, crowd).new == 1
    assert (stage.hit(1).fault, stage.hit(2).fault) == ("not this one", "")


def test_a_fault_that_may_pass_is_told_when_all_else_is_stored(stage: Stage) -> None:
    crowd = half_readable(stage, permanent=False)
    found = fetch_submissions(stage.campaign, crowd)
    assert (str(found.fault), found.unread) == ("not this one", [stage.hit(1).pk])
    assert Assignment.objects.get().hit == stage.hit(2)
    assert stage.hit(1).fault == "not this one"


def test_a_fault_is_forgotten_when_the_hit_can_be_read(stage: Stage) -> None:
    crowd = half_readable(stage, permanent=True)
    fetch_submissions(stage.campaign, crowd)
    assert fetch_submissions(stage.campaign, stage.mturk.crowd).new == 1
    assert stage.hit(1).fault == ""


def test_a_fault_is_forgotten_when_somebody_else_has_read_the_hit(stage: Stage) -> None:
    crowd = half_readable(stage, permanent=True)
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    stage.campaign.hits.filter(number=1).update(fault="of a slower process")
    assert fetch_submissions(stage.campaign, crowd).new == 0
    assert stage.hit(1).fault == ""
