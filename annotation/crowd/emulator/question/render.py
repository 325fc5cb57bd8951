"""The fields of a QuestionForm as HTML, for the inside of a page's form."""

from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from annotation.crowd.emulator.question.answers import OTHER, Fields
from annotation.crowd.emulator.question.form import Form, Question

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
)
TEMPLATES.tests["question"] = lambda part: isinstance(part, Question)
TEMPLATES.tests["choice"] = lambda question: hasattr(question.answer, "selections")


def fields(
    form: Form, entered: Fields | None = None, faults: Mapping[str, str] | None = None
) -> Markup:
    """With what was entered before and what was wrong with it, or with the requester's defaults."""
    values: dict[str, list[str]] = {}
    for name, value in entered or ():
        values.setdefault(name, []).append(value)
    text = TEMPLATES.get_template("form.html").render(
        form=form, values=values, fresh=entered is None, faults=faults or {}, other=OTHER
    )
    return Markup(text)  # noqa: S704 - autoescaped
