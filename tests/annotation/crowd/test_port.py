"""The contract that every crowd keeps, whichever adapter reaches it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from annotation.crowd.port import CrowdError, CrowdHit, Submission
from annotation.protocol.screening.control import RejectionReason
from tests.annotation.crowd.conftest import Market
from tests.support.threads import together

pytestmark = pytest.mark.concurrent


def submissions(market: Market, hit_id: str) -> dict[str, Submission]:
    return {found.assignment_id: found for found in market.crowd.submissions(hit_id)}


def look_up(market: Market, hit_id: str) -> CrowdHit:
    found = market.crowd.hit(hit_id)
    assert found is not None
    return found


def test_publishing_twice_with_one_token_makes_one_hit(market: Market) -> None:
    kind, token, key = market.hit_type(), next(market.tokens), next(market.tokens)
    first = market.publish(hit_type_id=kind, token=token, annotation=key)
    assert market.publish(hit_type_id=kind, token=token, annotation=key) == first
    assert [hit.hit_id for hit in market.crowd.hits() if hit.annotation == key] == [first]


def test_a_token_that_made_another_key_s_hit_is_refused_for_good(market: Market) -> None:
    token = next(market.tokens)
    market.publish(token=token, annotation="ada's")
    with pytest.raises(CrowdError, match="another key") as refusal:
        market.publish(token=token, annotation="bob's")
    assert refusal.value.permanent


def test_another_token_makes_another_hit(market: Market) -> None:
    assert market.publish() != market.publish()


def test_a_hit_is_listed_with_our_key_and_its_counts(market: Market) -> None:
    key = next(market.tokens)
    hit_id = market.publish(max_assignments=3, annotation=key)
    market.hire("ada").work(hit_id)
    market.hire("bob").accept(hit_id)
    (hit,) = [hit for hit in market.crowd.hits() if hit.annotation == key]
    assert (hit.hit_id, hit.max_assignments, hit.submitted) == (hit_id, 3, 1)
    assert (hit.available, hit.pending, hit.completed) == (1, 1, 0)
    assert hit.expires_at.utcoffset() is not None


def test_reviewed_work_counts_as_completed_and_stays_submitted(market: Market) -> None:
    hit_id = market.publish(max_assignments=2)
    market.crowd.approve(market.hire("ada").work(hit_id))
    hit = look_up(market, hit_id)
    assert (hit.available, hit.pending, hit.completed, hit.submitted) == (1, 0, 1, 1)


def test_a_hit_looked_up_is_the_one_listed(market: Market) -> None:
    hit_id = market.publish(annotation=next(market.tokens))
    assert [hit for hit in market.crowd.hits() if hit.hit_id == hit_id] == [look_up(market, hit_id)]


def test_a_hit_that_the_crowd_does_not_know_is_none(market: Market) -> None:
    assert market.crowd.hit("3AAAAAAAAAAAAAAAAAAAAAAAAAAAAA") is None


def test_hits_beyond_one_page_are_all_listed(market: Market) -> None:
    kind = market.hit_type()
    published = {market.publish(hit_type_id=kind, max_assignments=1) for _ in range(101)}
    listed = [hit.hit_id for hit in market.crowd.hits()]
    assert published <= set(listed)
    assert len(listed) == len(set(listed))


def test_submissions_beyond_one_page_are_all_fetched(market: Market) -> None:
    hit_id = market.publish(max_assignments=101)
    done = {market.hire(f"ada{number}").work(hit_id) for number in range(101)}
    listed = [submission.assignment_id for submission in market.crowd.submissions(hit_id)]
    assert len(listed) == 101
    assert set(listed) == done


def test_a_submission_says_who_did_it_and_when(market: Market) -> None:
    hit_id, ada = market.publish(), market.hire("ada")
    done = ada.work(hit_id)
    submission = submissions(market, hit_id)[done]
    assert (submission.worker_id, submission.status) == (ada.worker_id, "submitted")
    assert submission.accepted_at <= submission.submitted_at
    assert submission.submitted_at.utcoffset() is not None


def test_accepted_work_is_no_submission(market: Market) -> None:
    hit_id = market.publish()
    assert market.hire("ada").accept(hit_id)
    assert submissions(market, hit_id) == {}


@pytest.mark.parametrize(
    "text",
    [
        "<b>&amp;</b> \"quoted\" 'text' ]]> <!-- -->",
        "two\nlines\tand a tab",
        "Какой язык? どの言語 ما اللغة 🐘 e\u0301",
        "  spaces around  ",
        "",
    ],
)
def test_answers_come_back_as_they_were_sent(market: Market, text: str) -> None:
    hit_id = market.publish()
    answers = {"item-Ab9_<&": text, "item-2": "0"}
    done = market.hire("ada").work(hit_id, answers)
    assert submissions(market, hit_id)[done].answers == answers


def test_control_characters_in_an_answer_do_not_stop_the_collection(market: Market) -> None:
    hit_id = market.publish()
    market.hire("eve").work(hit_id, {"item-1": "\x00\x08\x0b\x1f\ufffe1", "item-2": "0"})
    (submission,) = market.crowd.submissions(hit_id)
    assert submission.answers["item-2"] == "0"


def test_approving_twice_is_success(market: Market) -> None:
    hit_id = market.publish()
    done = market.hire("ada").work(hit_id)
    market.crowd.approve(done)
    market.crowd.approve(done)
    assert submissions(market, hit_id)[done].status == "approved"


def test_rejecting_twice_is_success(market: Market) -> None:
    hit_id = market.publish()
    done = market.hire("eve").work(hit_id)
    market.crowd.reject(
        done, reason="Two of seven were answered wrong.", why=RejectionReason.MISSED
    )
    market.crowd.reject(
        done, reason="Two of seven were answered wrong.", why=RejectionReason.MISSED
    )
    assert submissions(market, hit_id)[done].status == "rejected"


def test_approved_work_cannot_be_rejected(market: Market) -> None:
    hit_id = market.publish()
    done = market.hire("ada").work(hit_id)
    market.crowd.approve(done)
    with pytest.raises(CrowdError, match=done) as refusal:
        market.crowd.reject(done, reason="Too late.", why=RejectionReason.MISSED)
    assert refusal.value.permanent
    assert submissions(market, hit_id)[done].status == "approved"


def test_rejected_work_is_not_approved_by_the_way(market: Market) -> None:
    hit_id = market.publish()
    done = market.hire("eve").work(hit_id)
    market.crowd.reject(done, reason="Answered at random.", why=RejectionReason.MISSED)
    with pytest.raises(CrowdError) as refusal:
        market.crowd.approve(done)
    assert refusal.value.permanent


def test_work_not_yet_submitted_cannot_be_approved(market: Market) -> None:
    begun = market.hire("bob").accept(market.publish())
    assert begun
    with pytest.raises(CrowdError) as refusal:
        market.crowd.approve(begun)
    assert refusal.value.permanent


def test_rejecting_opens_no_place(market: Market) -> None:
    hit_id = market.publish(max_assignments=1)
    market.crowd.reject(
        market.hire("eve").work(hit_id), reason="Answered at random.", why=RejectionReason.MISSED
    )
    assert market.hire("ada").accept(hit_id) is None


def test_an_extension_opens_exactly_its_places_and_once(market: Market) -> None:
    hit_id, token = market.publish(max_assignments=1), next(market.tokens)
    market.hire("ada").work(hit_id)
    assert market.hire("bob").accept(hit_id) is None
    for _ in range(2):  # the second is a replay
        market.crowd.extend_hit(hit_id, extra=2, token=token)
    assert [market.hire(f"bob{number}").accept(hit_id) is not None for number in range(3)] == [
        True,
        True,
        False,
    ]


def test_few_places_cannot_become_ten(market: Market) -> None:
    hit_id = market.publish(max_assignments=9)
    with pytest.raises(CrowdError) as refusal:
        market.crowd.extend_hit(hit_id, extra=1, token=next(market.tokens))
    assert refusal.value.permanent


def test_a_worker_takes_one_place_of_a_hit(market: Market) -> None:
    hit_id, ada = market.publish(max_assignments=2), market.hire("ada")
    ada.work(hit_id)
    assert ada.accept(hit_id) is None


def test_an_expiration_that_is_past_ends_a_hit_at_once(market: Market) -> None:
    hit_id = market.publish(max_assignments=2)
    begun = market.hire("ada").accept(hit_id)
    assert begun
    for _ in range(2):
        market.crowd.set_expiration(hit_id, datetime.now(UTC) - timedelta(days=1))
    assert market.hire("bob").accept(hit_id) is None
    hit = look_up(market, hit_id)
    assert (hit.available, hit.pending) == (0, 1)
    assert hit.expires_at < datetime.now(UTC)


def test_a_later_expiration_opens_the_places_again(market: Market) -> None:
    hit_id, later = market.publish(), datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
    market.crowd.set_expiration(hit_id, datetime.now(UTC) - timedelta(days=1))
    market.crowd.set_expiration(hit_id, later)
    assert market.hire("ada").accept(hit_id) is not None
    assert look_up(market, hit_id).expires_at == later


def test_a_hit_that_is_done_can_be_deleted_and_is_gone(market: Market) -> None:
    hit_id = market.publish(max_assignments=1)
    market.crowd.approve(market.hire("ada").work(hit_id))
    for _ in range(2):
        market.crowd.delete_hit(hit_id)
    assert market.crowd.hit(hit_id) is None
    assert hit_id not in {hit.hit_id for hit in market.crowd.hits()}


def test_what_was_never_there_counts_as_deleted(market: Market) -> None:
    market.crowd.delete_hit("3AAAAAAAAAAAAAAAAAAAAAAAAAAAAA")


@pytest.mark.parametrize("submitted", [False, True])
def test_a_hit_that_is_not_done_is_not_deleted(market: Market, submitted: bool) -> None:
    hit_id = market.publish(max_assignments=1)
    if submitted:
        market.hire("ada").work(hit_id)
    with pytest.raises(CrowdError, match=r"(?i)delete") as refusal:
        market.crowd.delete_hit(hit_id)
    assert refusal.value.permanent
    assert market.crowd.hit(hit_id) is not None


def test_sixteen_threads_can_call_at_once(market: Market) -> None:
    kind = market.hit_type()
    keys = [next(market.tokens) for _ in range(16)]
    made = together(*(partial(market.publish, hit_type_id=kind, annotation=key) for key in keys))
    listed = {hit.annotation: hit.hit_id for hit in market.crowd.hits()}
    assert [listed[key] for key in keys] == made


def test_the_same_wishes_give_the_same_hit_type(market: Market) -> None:
    assert market.hit_type() == market.hit_type()


def test_nothing_is_real_money_here(market: Market) -> None:
    assert not market.crowd.site.is_production


def test_what_does_not_exist_is_refused_for_good(market: Market) -> None:
    wrong = "3AAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    crowd = market.crowd
    calls: dict[str, Callable[[], object]] = {
        "approve": lambda: crowd.approve(wrong),
        "reject": lambda: crowd.reject(wrong, reason="Wrong.", why=RejectionReason.MISSED),
        "extend": lambda: crowd.extend_hit(wrong, extra=1, token=next(market.tokens)),
        "submissions": lambda: list(crowd.submissions(wrong)),
        "exclude": lambda: crowd.exclude("AEVE", exclusion_id=wrong),
        "restore": lambda: crowd.restore("AEVE", exclusion_id=wrong),
        "block": lambda: crowd.block("ANOBODY", reason="Wrong."),
        "expire": lambda: crowd.set_expiration(wrong, datetime.now(UTC)),
        "bonus": lambda: crowd.bonus(
            "AEVE", wrong, cents=1, reason="Wrong.", token=next(market.tokens)
        ),
    }
    for name, call in calls.items():
        with pytest.raises(CrowdError, match="does not exist") as refusal:
            call()
        assert refusal.value.permanent, name


def test_answers_are_those_of_the_assignment_asked_for(market: Market) -> None:
    hit_id = market.publish()
    by_ada = market.hire("ada").work(hit_id, {"item-1": "1"})
    by_bob = market.hire("bob").work(hit_id, {"item-1": "0"})
    found = submissions(market, hit_id)
    assert [found[done].answers for done in (by_ada, by_bob)] == [{"item-1": "1"}, {"item-1": "0"}]
    assert replace(found[by_ada], answers={}) != replace(found[by_bob], answers={})


def test_a_rejection_can_be_overturned_and_again_is_success(market: Market) -> None:
    hit_id = market.publish()
    done = market.hire("ada").work(hit_id)
    market.crowd.reject(done, reason="A mistake of ours.", why=RejectionReason.MISSED)
    for _ in range(2):
        market.crowd.overturn(done)
        assert submissions(market, hit_id)[done].status == "approved"
    with pytest.raises(CrowdError) as refusal:
        market.crowd.reject(done, reason="And yet.", why=RejectionReason.MISSED)
    assert refusal.value.permanent


def test_no_rejection_of_unknown_work_is_overturned(market: Market) -> None:
    with pytest.raises(CrowdError) as refusal:
        market.crowd.overturn("3AAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    assert refusal.value.permanent
