"""Where calls to a crowd are made: in threads, or in the caller's own for a record of ours."""

from threading import Event, get_ident

import pytest

from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.pipeline.outbox import threads
from annotation.pipeline.outbox.threads import CALLS_A_THREAD, calling
from tests.worlds.account import Account


def numbered(number: int) -> tuple[int, int]:
    return number, get_ident()


def test_calls_to_our_own_record_stay_in_the_caller_s_thread() -> None:
    with calling(InhouseCrowd(), threads=4) as caller:
        made = caller.each(numbered, range(50))
    assert made == [(number, get_ident()) for number in range(50)]


def test_calls_to_another_s_record_are_made_in_threads_and_answered_in_order(
    mturk: Account,
) -> None:
    with calling(mturk.crowd, threads=4) as caller:
        made = caller.each(numbered, range(50))
    assert [number for number, _ in made] == list(range(50))
    assert get_ident() not in {thread for _, thread in made}


def test_who_waits_for_an_answer_beats_until_it_is_there(
    mturk: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer here comes after the third beat."""
    monkeypatch.setattr(threads, "BEATS", 1e4)
    beats, enough = [], Event()

    def beat() -> None:
        beats.append(get_ident())
        if len(beats) == 3:
            enough.set()

    with calling(mturk.crowd, threads=1) as caller:
        assert caller.each(lambda _: enough.wait(30), range(2), beat=beat) == [True, True]
    assert set(beats) == {get_ident()}


def test_between_calls_to_our_own_record_it_beats_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "BEATS", 1e12)
    beats: list[None] = []
    with calling(InhouseCrowd()) as caller:
        caller.each(numbered, range(3), beat=lambda: beats.append(None))
    assert len(beats) == 3


def test_other_work_is_done_while_another_s_record_answers(mturk: Account) -> None:
    """The answer here comes after it."""
    enough = Event()
    with calling(mturk.crowd, threads=1) as caller:
        answers = caller.each(lambda _: enough.wait(30), range(2), meanwhile=enough.set)
    assert answers == [True, True]


def test_other_work_is_done_before_our_own_record_is_asked() -> None:
    """Its calls write our database: what they find must be recorded."""
    order: list[object] = []
    with calling(InhouseCrowd()) as caller:
        caller.each(order.append, range(2), meanwhile=lambda: order.append("before"))
    assert order == ["before", 0, 1]


@pytest.mark.parametrize(
    ("made", "seconds", "next_time"),
    [(64, 0.0, 256), (256, 1.0, 256), (64, 2.0, 106), (256, 8.0, 106), (64, 6.4, 64)],
)
def test_what_is_claimed_next_is_made_between_two_beats(
    mturk: Account, made: int, seconds: float, next_time: int
) -> None:
    with calling(mturk.crowd, threads=8) as caller:
        assert caller.fewest == 64
        assert caller.share(made, seconds) == next_time


@pytest.mark.parametrize("number", [1, 3])
def test_a_batch_keeps_every_thread_busy_for_a_while(number: int) -> None:
    with calling(InhouseCrowd(), threads=number) as caller:
        assert caller.batch == number * CALLS_A_THREAD
