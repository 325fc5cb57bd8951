"""Whose a build is: claimed by one update, held by a beat each second, lost when the beat fails."""

from core.leases import Heartbeat, take
from core.progress import Progress
from exports.models import Build

GIVEN_UP = (
    "Whoever was at the build ended before it did, by an error or by force: the log says more; "
    "ask for the release again."
)


class BuildLost(Exception):
    """Another process has taken the build over."""


def claim(build_id: int, mine: str) -> Build | None:
    """None where another process has it, or nobody needs to any more."""
    row = Build.objects.filter(pk=build_id)
    return row.select_related("campaign").get() if take(row, mine) else None


class Beat(Heartbeat):
    """Tells the build's row how far it is."""

    def __init__(self, build: Build, shares: dict[str, int], progress: Progress) -> None:
        """`shares`: thousandths of the whole by stage; `progress` counts them."""
        super().__init__(
            Build.objects.filter(pk=build.pk, claim=build.claim, state=Build.State.RUNNING)
        )
        self._shares = shares
        self._progress = progress
        self._stage = ""
        self._begun = self._done = 0  # thousandths

    def facts(self) -> dict[str, object]:
        return {"stage": self._stage, "done": self._done}

    def begin(self, stage: str, units: int) -> Progress:
        """Whatever came before the stage is done."""
        self._stage = stage
        stages = list(self._shares)
        self._begun = sum(self._shares[each] for each in stages[: stages.index(stage)])
        self._reach(self._begun)
        counted = 0

        def count(increment: int) -> None:
            nonlocal counted
            counted += increment
            part = min(counted / units, 1.0) if units else 1.0
            self._reach(self._begun + int(self._shares[stage] * part))

        return count

    def end(self) -> None:
        """All is done, and the build's row says so: a beat since then has found nothing to tell."""
        self._count(sum(self._shares.values()))

    def _reach(self, done: int) -> None:
        if self._lost:
            raise BuildLost
        self._count(done)

    def _count(self, done: int) -> None:
        self._progress(done - self._done)
        self._done = done
