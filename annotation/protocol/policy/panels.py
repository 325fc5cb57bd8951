"""How panels name people in the links that they send them by, as their own pages have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from annotation.protocol.policy.crowds import PANEL, PROLIFIC, CrowdTraits


@dataclass(frozen=True)
class Panel:
    title: str
    parameter: str
    advice: str  # what is done there with the link
    # What the panel puts the person's id in place of; empty: it adds parameter and id by itself.
    placeholder: str = ""
    crowd: CrowdTraits = PANEL
    # The parameter that names the visit, where the panel tells by its API what came of that.
    session: str = ""


OTHER = "other"
PANELS: Mapping[str, Panel] = {
    "connect": Panel(
        "CloudResearch Connect",
        "participantId",
        "paste the link; Connect adds its parameters",
    ),
    "sona": Panel(
        "SONA",
        "sona_id",
        "paste the link as the Study URL, and give its completion URL as `--return-url`, with "
        "`{person}` in place of `XXX`",
        "%SURVEY_CODE%",
    ),
    "clickworker": Panel(
        "Clickworker",
        "user_id",
        'switch on "Add unique ID of the Clickworker"',
    ),
    "microworkers": Panel(
        "Microworkers",
        "mw_id",
        "paste the link into the task's template, and ask for the completion code as the proof",
        "{{MW_ID}}",
    ),
    OTHER: Panel(
        "the panel",
        "id",
        "give the name of its parameter as `--parameter`, and put the panel's placeholder for its "
        "ID behind it",
    ),
    PROLIFIC.kind: Panel(
        "Prolific",
        "PROLIFIC_PID",
        "leave it to Quorum, which makes the study",
        crowd=PROLIFIC,
        session="SESSION_ID",
    ),
}
