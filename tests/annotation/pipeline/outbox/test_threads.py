"""Where calls to a crowd are made: in threads, or in the caller's own for a record of ours."""

from threading import get_ident

import pytest

from annotation.crowd.inhouse.adapter import InhouseCrowd
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


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_keeps_every_thread_busy_for_a_while(threads: int) -> None:
    with calling(InhouseCrowd(), threads=threads) as caller:
        assert caller.batch == threads * CALLS_A_THREAD
