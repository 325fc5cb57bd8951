"""What a dry run is asked for: how much of the campaign, and by what people."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from annotation.crowd.simulated.profiles import WorkerProfiles
from annotation.pipeline.setup.create import SEEDS
from core.errors import UserError

MOST_WORKERS = 200
MOST_HITS = 400  # some minutes of work
# By the paper's rule somebody is judged after 10 HITs: a sample gives each of 20 people some more.
USUAL_HITS = 100


@dataclass(frozen=True)
class Options:
    """Shares from 0 to 1. Two careful people agree on 78 % of the triplets, as in the paper."""

    queries: int | None = None  # None: as many as make USUAL_HITS
    workers: int = 16
    careless: float = 0.1
    spammers: float = 0.1
    accuracy: float = 0.88
    control_accuracy: float = 0.985
    careless_accuracy: float = 0.75
    careless_control_accuracy: float = 0.85
    seed: int = 0

    def profiles(self) -> WorkerProfiles:
        return WorkerProfiles(
            workers=self.workers,
            accuracy=self.accuracy,
            spammers=self.spammers,
            seed=self.seed,
            careless=self.careless,
            careless_accuracy=self.careless_accuracy,
            plain_accuracy=self.control_accuracy,
            careless_plain_accuracy=self.careless_control_accuracy,
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


SHARES = tuple(each.name for each in fields(Options) if each.type is float)


def read_options(values: Mapping[str, Any]) -> Options:
    """UserError names the first value that is none of an option's."""
    known = {each.name for each in fields(Options)}
    if unknown := sorted(values.keys() - known):
        raise UserError(f"A dry run has no option {unknown[0]!r}: it has {', '.join(known)}.")
    options = Options(**values)
    for name in SHARES:
        share = getattr(options, name)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise UserError(f"{_words(name)} must be a share from 0 to 1, not {share!r}.")
    _check_whole("workers", options.workers, 1, MOST_WORKERS)
    _check_whole("seed", options.seed, SEEDS.start, SEEDS.stop - 1)
    if options.queries is not None:
        _check_whole("queries", options.queries, 1, MOST_HITS * 100)
    if options.careless + options.spammers > 1:
        raise UserError(
            "The careless people and the spammers together are more than all: let their shares "
            "sum to 1 at most."
        )
    return options


def _check_whole(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UserError(f"{_words(name)} must be a whole number from {least} to {most:,}.")


def _words(name: str) -> str:
    return "The dry run's " + name.replace("_", " ")
