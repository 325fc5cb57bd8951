"""A campaign's qualification items: read from a file, checked row by row, and drawn."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from annotation.models import Campaign, QualificationItem
from annotation.protocol.policy.tasks import PAPER_TASK, TaskType
from annotation.protocol.screening.qualification import TooFewItems, draw_rounds
from core.errors import UserError
from core.files.rows import Row, RowFault, optional_field, read_rows, text_field
from core.text.clean import normalise_question

FOLDER = Path(__file__).parent
Column = tuple[str, ...]
QUERY, QUESTION, ANSWER = ("query",), ("question",), ("answer",)
EXPECTED, WHY = ("expected",), ("why",)
MOST_CHARACTERS = 2000
MOST_ROWS = 10_000


@dataclass(frozen=True)
class Example:
    query: str
    question: str
    answer: str
    expected: int
    why: str


def create_qualification_items(campaign: Campaign, path: Path | None) -> None:
    """The items of the campaign's test, from a file of the user's own or from ours."""
    count = campaign.policy.qualification_items
    if not count:
        if path is not None:
            raise UserError(f"The policy has no test: set qualification_items in it to use {path}.")
        return
    source = path or FOLDER / campaign.policy.task_type.qualification_items
    examples = read_examples(source, campaign.policy.task_type)
    try:
        drawn = draw_rounds([each.expected for each in examples], count, seed=campaign.seed)
    except TooFewItems as error:
        raise UserError(
            f"The items of {source} do not do: {error}. Add some, or lower the policy's "
            "qualification_items."
        ) from error
    QualificationItem.objects.bulk_create(
        [_item(campaign, position, examples[index]) for position, index in enumerate(drawn)]
    )


def read_examples(path: Path, task: TaskType = PAPER_TASK) -> list[Example]:
    """One bad row refuses the file: people who take the test learn from each of them.

    What is judged against the query is a question or an answer, as the task shows it.
    """
    judged = QUESTION if task.shows_question else ANSWER
    required = (QUERY, judged, EXPECTED, WHY)
    rows = list(islice(read_rows(path, required=required), MOST_ROWS + 1))
    if len(rows) > MOST_ROWS:
        raise UserError(f"{path} holds more than {MOST_ROWS:,} items: name a shorter one.")
    examples: list[Example] = []
    lines: dict[tuple[str, str], int] = {}
    for row in rows:
        try:
            example = _example(row, judged)
            said = example.question if task.shows_question else example.answer
            key = normalise_question(example.query), normalise_question(said)
            if key in lines:
                raise RowFault(f"it asks what line {lines[key]} asks")
        except RowFault as fault:
            raise UserError(f"Line {row.line} of {path}: {fault}; nothing was made.") from fault
        lines[key] = row.line
        examples.append(example)
    return examples


def _example(row: Row, judged: Column) -> Example:
    if row.fault:
        raise RowFault(row.fault)
    expected = optional_field(row, "expected", limit=MOST_CHARACTERS)
    if expected not in ("0", "1"):
        raise RowFault("its expected must be 0 or 1")
    text_field(row, judged, limit=MOST_CHARACTERS)
    return Example(
        query=text_field(row, QUERY, limit=MOST_CHARACTERS),
        question=optional_field(row, "question", limit=MOST_CHARACTERS),
        answer=optional_field(row, "answer", limit=MOST_CHARACTERS),
        expected=int(expected),
        why=text_field(row, WHY, limit=MOST_CHARACTERS),
    )


def _item(campaign: Campaign, position: int, example: Example) -> QualificationItem:
    return QualificationItem(
        campaign=campaign,
        position=position,
        query=example.query,
        question=example.question,
        answer=example.answer,
        expected=example.expected,
        why=example.why,
    )
