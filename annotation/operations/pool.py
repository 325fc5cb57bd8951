"""The pool of positive controls, which all campaigns share: its controls come, change and go."""

from django.utils import timezone

from annotation.access.roles import CHANGE_CONTROLS
from annotation.models import Control
from annotation.operations.operation import Argument, Operation, Options, Result, tried
from annotation.pipeline.controls.controls import Texts, add_positive, replace, retire
from core.errors import UserError

MOST_CONTROLS = 2**31 - 1
CONTROL = Argument("control", "count", "Control", "its number", maximum=MOST_CONTROLS)
TEXTS = (
    Argument("query", "text", "Query"),
    Argument("question", "text", "Question", "the same in other words"),
    Argument("answer", "text", "Answer"),
)


def _add(database: None, options: Options) -> Result:
    return {"new": add_positive(_texts(options)).pk}


def _replace(database: None, options: Options) -> Result:
    return {"new": replace(_control(options), _texts(options), now=timezone.now()).pk}


def _retire(database: None, options: Options) -> Result:
    control = _control(options)
    retire(control, now=timezone.now())
    return {"query": control.query, "question": control.question, "answer": control.answer}


def _texts(options: Options) -> Texts:
    return Texts(options["query"], options["question"], options["answer"])


def _control(options: Options) -> Control:
    control = Control.objects.filter(campaign=None, pk=options["control"]).first()
    if control is None:
        raise UserError(f"The pool has no control {options['control']}.")
    return control


OPERATIONS = (
    Operation(
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
    ),
    Operation(
        "replace-control",
        "replace a control of the pool with a new one, which new HITs contain instead",
        CHANGE_CONTROLS,
        tried(_replace, "A new control replaces it. HITs that contain the old one keep it."),
        _replace,
        (CONTROL, *TEXTS),
        noun="controls",
        verb="replace",
        subject="control",
        calls_crowd=False,
        confirms=False,
    ),
    Operation(
        "retire-control",
        "retire a control of the pool, so that no new HIT contains it",
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
    ),
)
