"""The stages of a build, and how far it is. Light, for every page of the site loads it."""

from collections.abc import Callable

from core.progress import Progress

READING = "reading the record"
SPLITTING = "splitting the queries"
FORMATTING = "writing the formats"
SCORING = "scoring the baselines"
COMPARING = "comparing with the release before"
COMPUTING = "computing the figures"
DRAWING = "writing the card"
PACKING = "packing the archive"
STORING = "storing the files"
# Thousandths of the whole, about as long as they take.
SHARES = {
    READING: 300,
    SPLITTING: 150,
    FORMATTING: 200,
    SCORING: 100,
    COMPARING: 30,
    COMPUTING: 120,
    DRAWING: 30,
    PACKING: 40,
    STORING: 30,
}
WHOLE = sum(SHARES.values())


def reached(stage: str, done: int, total: int | None) -> int:
    """Whatever comes before the stage is done."""
    stages = list(SHARES)
    before = sum(SHARES[each] for each in stages[: stages.index(stage)])
    return before + int(SHARES[stage] * (min(done / total, 1.0) if total else 0.0))


class Stages:
    """Tells the build's row, and people who watch the command, how far it is."""

    def __init__(self, watch: Callable[[str, int], Progress], progress: Progress) -> None:
        """`progress` counts thousandths of the whole."""
        self._watch = watch
        self._progress = progress
        self._done = 0

    def begin(self, stage: str, units: int) -> Progress:
        tell = self._watch(stage, units)
        done = 0

        def count(increment: int) -> None:
            nonlocal done
            done += increment
            tell(increment)
            self._reach(reached(stage, done, units))

        count(0)
        return count

    def end(self) -> None:
        self._reach(WHOLE)

    def _reach(self, done: int) -> None:
        self._progress(done - self._done)
        self._done = done
