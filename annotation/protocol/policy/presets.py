"""Where a new campaign begins: a crowd with rules that suit it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.protocol.policy.crowds import INHOUSE, PANEL, PAPER_CROWD, PROLIFIC
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS, TaskType


@dataclass(frozen=True)
class Preset:
    name: str
    title: str
    lead: str
    values: Mapping[str, Any] = field(default_factory=dict)  # that differ from the paper's

    def policy(self, task: TaskType = PAPER_TASK) -> Policy:
        """What another task says of itself, such as its title, is left out."""
        own = TASKS[self.values.get("task", PAPER_TASK.name)]
        others = {} if own is task else own.defaults()
        values = {name: value for name, value in self.values.items() if name not in others}
        return Policy.from_dict({**values, **task.defaults()})


TEAM = Preset(
    "team",
    "Your team",
    "People whom you invite judge on this site, unpaid. The other rules are the paper's.",
    INHOUSE.defaults(),
)
PILOT = Preset(
    "pilot",
    "Quick pilot",
    "Your team tries it: 10 candidates per query, and 10 controls are enough.",
    {**INHOUSE.defaults(), "candidates_per_query": 10, "control_pool_size": 10},
)
PAPER = Preset(
    "paper",
    f"Paid workers of {PAPER_CROWD.title}",
    "The rules of the QUADRo paper. Workers are paid for each assignment.",
)
ADAPTIVE = Preset(
    "adaptive",
    "Paid workers, votes where they matter",
    f"Workers of {PAPER_CROWD.title} judge each triplet once, and again while its label is less "
    "than 90 % sure. Controls say how good each worker is.",
    {
        "annotators": 1,
        "tie_mode": "repack",
        "max_votes": 7,  # after five, too many labels are not sure yet
        "aggregation": "best",
        "wanted_confidence": 0.9,
    },
)
OTHERS = (
    Preset(
        "prolific",
        "Participants of Prolific",
        "Prolific sends people here and pays them, from your balance there. The other rules are "
        "the paper's.",
        PROLIFIC.defaults(),
    ),
    Preset(
        "panel",
        "Participants of a panel",
        "A panel sends people here by a link, and pays them from your list. The other rules are "
        "the paper's.",
        PANEL.defaults(),
    ),
)
PRESETS: Mapping[str, Preset] = {
    each.name: each for each in (TEAM, PILOT, PAPER, ADAPTIVE, *OTHERS)
}
