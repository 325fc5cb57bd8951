"""Calls at the same time, as several processes make them."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

Result = TypeVar("Result")


def together(*calls: Callable[[], Result]) -> list[Result]:
    """Run them at once, each in a thread with a database connection of its own."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Result]) -> Result:
        start.wait()
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
