"""What the judging page shows of a HIT, wherever the worker comes from."""

import unicodedata
from dataclasses import dataclass

from django.db.models.functions import Coalesce
from django.urls import reverse

from annotation.analytics.quality.text_diff import Part, as_judged
from annotation.crowd.qualification_url import qualification_test_url
from annotation.crowd.worker_notices import what_is_kept
from annotation.models import Hit, ItemReport
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.behaviour import CANNOT_JUDGE
from annotation.web.base.markdown import render_markdown
from core.text.money import money

LINE = 72  # characters of a text's line in the page's widest column
ANSWER_LINES = 7
QUESTION_LINES = 14
REPORT_LENGTH = 500


@dataclass(frozen=True)
class WorkerItem:
    """What a worker sees of an item: nothing else of it may reach the page."""

    key: str
    query: list[Part]
    question: list[Part]
    answer: str
    folds_query: bool
    folds_question: bool
    folds_answer: bool
    # What was sent with an item missing, when no script keeps it: shown again.
    given: str = ""
    report: str = ""
    report_text: str = ""


def judging_context(hit: Hit, *, assignment_id: str, worker_id: str) -> dict[str, object]:
    """Of templates/annotation/judging/judging.html; an empty assignment_id makes a preview."""
    policy = hit.campaign.policy
    items = _items(hit, marked=policy.mark_differences)
    return {
        "task": policy.task_type,
        "items": items,
        # An answer missing from one item alone would set it apart from the others.
        "show_answer": policy.show_answer and all(item.answer.strip() for item in items),
        "instructions": render_markdown(hit.instructions.text),
        "kept": kept_in(policy),
        "cannot_judge": CANNOT_JUDGE if policy.cannot_judge_limit else "",
        "reasons": ItemReport.Reason.choices,
        "report_length": REPORT_LENGTH,
        "assignment_id": assignment_id,
        "worker_id": worker_id,
        "probe_url": reverse("health"),
        "test_url": qualification_test_url(hit.campaign) if hit.campaign.qualified_id else "",
    }


def kept_in(policy: Policy, *, panel: str = "the panel") -> list[str]:
    reward = money(policy.reward_cents) if policy.reward_cents else ""
    return what_is_kept(policy.crowd_traits, panel=panel, reward=reward)


def _items(hit: Hit, *, marked: bool) -> list[WorkerItem]:
    """In the order of the page; one query that reads the texts alone."""
    rows = hit.items.order_by("position").values_list(
        "key",
        Coalesce("control__query", "triplet__candidate__query__text"),
        Coalesce("control__question", "triplet__candidate__pair__question"),
        Coalesce("control__answer", "triplet__candidate__pair__answer"),
    )
    return [_item(*row, marked=marked) for row in rows]


def _item(key: str, query: str, question: str, answer: str, *, marked: bool) -> WorkerItem:
    query_parts, question_parts = as_judged(query, question, marked=marked)
    return WorkerItem(
        key=key,
        query=query_parts,
        question=question_parts,
        answer=answer,
        folds_query=_is_long(query, QUESTION_LINES),
        folds_question=_is_long(question, QUESTION_LINES),
        folds_answer=_is_long(answer, ANSWER_LINES),
    )


def _is_long(text: str, lines: int) -> bool:
    """Told by the text alone, before any browser measures it: the page never jumps."""
    if len(text) > LINE * lines:
        return True
    return sum(-(-_width(line) // LINE) or 1 for line in text.splitlines()) > lines


def _width(line: str) -> int:
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in line)
    return len(line) + wide
