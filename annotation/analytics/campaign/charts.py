"""Charts as plain data: pages draw them, programs read them, both show them as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from annotation.protocol.policy.crowds import CrowdTraits

Value = float | int | None


@dataclass(frozen=True)
class Series:
    name: str
    values: Sequence[Value]  # one a label; None: nothing is known there
    # Two series, one after the other, are the ends of an interval: drawn as a band.
    band: Literal["", "from", "to"] = ""
    muted: bool = False  # what the others stand before


@dataclass(frozen=True)
class Chart:
    key: str  # in its address and its elements' ids
    title: str
    kind: Literal["time", "line", "bar", "stack"]
    axis: str  # what the labels are
    labels: Sequence[str]
    series: Sequence[Series]
    unit: str = ""
    note: str = ""  # how to read it
    least: float | None = None  # of the axis; None: from zero on
    # Where the labels are on the axis of a line, to scale; of times, milliseconds.
    places: Sequence[float] = ()

    @property
    def data(self) -> dict[str, object]:
        """What the script draws."""
        return {**vars(self), "series": [vars(one) for one in self.series]}

    def said(self, crowd: CrowdTraits) -> Self:
        """In the words of a campaign's crowd."""
        return replace(
            self,
            title=crowd.said(self.title),
            axis=crowd.said(self.axis),
            unit=crowd.said(self.unit),
            note=crowd.said(self.note),
            series=[replace(one, name=crowd.said(one.name)) for one in self.series],
        )

    @property
    def is_known(self) -> bool:
        """Whether it has anything to show."""
        return any(value is not None for one in self.series for value in one.values)

    @property
    def element(self) -> str:
        """The id of what the script reads."""
        return f"chart-{self.key}"

    @property
    def header(self) -> list[str]:
        return [self.axis, *(one.name for one in self.series)]

    def rows(self) -> Iterator[list[object]]:
        values = zip(*(one.values for one in self.series), strict=True)
        for label, row in zip(self.labels, values, strict=True):
            yield [label, *row]
