"""Controls come, change and go: those of the pool, which all campaigns share, and a campaign's."""

from dataclasses import asdict
from pathlib import Path

from django.db.models import QuerySet
from django.utils import timezone

from annotation.access.audit_log import Actor, logged
from annotation.access.roles import CHANGE_CONTROLS
from annotation.models import Campaign, Control
from annotation.operations.operation import Argument, Operation, Options, Result, tried
from annotation.pipeline.controls.controls import Texts, add_positive, replace, retire
from annotation.pipeline.controls.import_controls import Imported, import_controls
from annotation.pipeline.controls.import_drafts import Imported as ImportedDrafts
from annotation.pipeline.controls.import_drafts import import_drafts
from annotation.pipeline.gold.rejected_rows import known_as
from annotation.protocol.policy.tasks import PAPER_TASK, TaskType
from core.errors import UserError

MOST_NUMBER = 2**31 - 1
CONTROL = Argument("control", "count", "Control", "its number", maximum=MOST_NUMBER)
TEXTS = (
    Argument("query", "text", "Query"),
    Argument("question", "text", "Question", "of a positive control, the same in other words"),
    Argument("answer", "text", "Answer"),
)


def add_controls_of(by: Actor, path: Path, name: str, task: TaskType = PAPER_TASK) -> Imported:
    """`name` is the sender's name for the file; the log keeps its last part.

    BadRows names the rows that are none.
    """
    with logged(by, "import-controls", file=Path(name).name) as entry, known_as(path, name):
        imported = import_controls(path, task)
        entry.details |= asdict(imported)
    return imported


def add_drafts_of(by: Actor, campaign: Campaign, path: Path, name: str) -> ImportedDrafts:
    """As with controls of the pool."""
    sent = {"file": Path(name).name}
    with logged(by, "import-drafts", campaign, **sent) as entry, known_as(path, name):
        imported = import_drafts(path, campaign)
        entry.details |= asdict(imported)
    return imported


def texts_in(options: Options) -> Texts:
    return Texts(options["query"], options["question"], options["answer"])


def texts_of(control: Control) -> Texts:
    return Texts(control.query, control.question, control.answer)


def _add(pool: None, options: Options) -> Result:
    return {"new": add_positive(texts_in(options)).pk}


def _replace(place: Campaign | None, options: Options) -> Result:
    return {"new": replace(_control(place, options), texts_in(options), now=timezone.now()).pk}


def _texts_before(place: Campaign | None, given: Options) -> Options:
    control = _controls_named(place, given).first()
    return texts_of(control)._asdict() if control else {}


def _retire(place: Campaign | None, options: Options) -> Result:
    control = _control(place, options)
    retire(control, now=timezone.now())
    return texts_of(control)._asdict()


def _control(place: Campaign | None, options: Options) -> Control:
    control = _controls_named(place, options).first()
    if control is None:
        owner = f"Campaign {place}" if place else "The pool"
        raise UserError(f"{owner} has no control {options['control']}.")
    return control


def _controls_named(place: Campaign | None, given: Options) -> QuerySet[Control]:
    return Control.objects.filter(campaign=place, pk=given.get("control", 0))


ADD = Operation(
    "add-control",
    "add a positive control to the pool, for new HITs",
    CHANGE_CONTROLS,
    tried(_add, "New HITs can contain this control. A worker who answers No fails it."),
    _add,
    TEXTS,
    noun="controls",
    verb="add",
    calls_crowd=False,
    confirms=False,
)
REPLACE = Operation(
    "replace-control",
    "replace a control with a new one, which new HITs contain instead",
    CHANGE_CONTROLS,
    tried(_replace, "A new control replaces it. HITs that contain the old one keep it."),
    _replace,
    (CONTROL, *TEXTS),
    noun="controls",
    verb="replace",
    subject="control",
    calls_crowd=False,
    confirms=False,
    initial=_texts_before,
)
RETIRE = Operation(
    "retire-control",
    "retire a control, so that no new HIT contains it",
    CHANGE_CONTROLS,
    tried(
        _retire,
        "New HITs do not contain it. HITs that already contain it are still checked with it.",
        "You cannot undo this.",
    ),
    _retire,
    (CONTROL,),
    noun="controls",
    verb="retire",
    subject="control",
    calls_crowd=False,
    harms=True,
)
OPERATIONS = (ADD, REPLACE, RETIRE)
