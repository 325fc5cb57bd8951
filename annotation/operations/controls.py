"""Controls: items whose answer is known, of the pool and of a campaign."""

from dataclasses import asdict
from pathlib import Path

from django.utils import timezone

from annotation.access.audit_log import Actor, logged
from annotation.models import AuditEntry, Campaign, Control, ControlCandidate
from annotation.pipeline.controls import candidates
from annotation.pipeline.controls.controls import Texts, replace, retire
from annotation.pipeline.controls.import_controls import Imported, import_controls
from annotation.pipeline.gold.rejected_rows import known_as


def texts_of(control: Control) -> Texts:
    return Texts(control.query, control.question, control.answer)


def add_controls_of(by: Actor, path: Path, name: str) -> Imported:
    """`name` is the sender's name for the file; the log keeps its last part.

    BadRows names the rows that are none.
    """
    with logged(by, "import-controls", file=Path(name).name) as entry, known_as(path, name):
        imported = import_controls(path)
        entry.details |= asdict(imported)
    return imported


def replace_control(by: Actor, control: Control, texts: Texts) -> Control:
    with logged(by, "replace-control", control.campaign, replaces=control.pk) as entry:
        return _noted(entry, replace(control, texts, now=timezone.now()))


def retire_control(by: Actor, control: Control) -> None:
    with logged(by, "retire-control", control.campaign) as entry:
        retire(control, now=timezone.now())
        _noted(entry, control)


def confirm_candidate(
    by: Actor, campaign: Campaign, candidate: ControlCandidate, texts: Texts
) -> Control:
    with logged(by, "confirm-control", campaign, triplet=candidate.triplet_id) as entry:
        return _noted(entry, candidates.confirm(candidate, texts, by=by.name, now=timezone.now()))


def dismiss_candidate(by: Actor, campaign: Campaign, candidate: ControlCandidate) -> None:
    with logged(by, "dismiss-control", campaign, subject=f"triplet {candidate.triplet_id}"):
        candidates.dismiss(candidate, by=by.name, now=timezone.now())


def _noted(entry: AuditEntry, control: Control) -> Control:
    """The entry keeps the control's texts."""
    entry.subject = f"control {control.pk}"
    entry.details = {**texts_of(control)._asdict(), **entry.details}
    return control
