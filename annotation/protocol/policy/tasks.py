"""What people are asked of an item: a task type declares it, and all else follows from that.

Every item is a query, and a pair that somebody proposed for it; the answer to what is asked is Yes
or No, which a release has as the labels 1 and 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

TaskName = Literal["equivalence", "answer"]


@dataclass(frozen=True)
class TaskType:
    name: TaskName
    choice: str  # among task types, when a campaign is planned
    # What an item shows beside the answer, each under its word.
    query_word: str
    shows_question: bool  # the pair's own; else its answer alone
    # What is asked: above the items, at one item, aloud, and of an expert.
    heading: str
    lead: str
    ask: str
    asked_aloud: str
    asked_of_expert: str
    yes: str  # what the key says
    right_yes: str  # why a control's answer is Yes, or No
    right_no: str
    # In a release: what the labels mean, what they say, what positives are and what others may be
    # that nobody judged, and by which words it is looked for.
    labels: str
    purpose: str
    positives: str
    unjudged: str
    keywords: tuple[str, ...]
    tags: tuple[str, ...]
    instructions: str  # the file that Quorum ships, and that of its qualification items
    qualification_items: str
    # What a positive control is; a negative is a pair of another question, whichever the task.
    control: str
    brings_candidates: bool  # its pairs come with the queries; else a retriever finds them
    # Policy fields that begin otherwise than the paper's, and those that it does not let vary.
    starts: Mapping[str, Any]
    fixed: Mapping[str, Any]

    def asks(self, name: str) -> bool:
        """Whether its policies may say something of their own in this field."""
        return name != "task" and name not in self.fixed

    def defaults(self) -> dict[str, Any]:
        return {"task": self.name, **self.starts, **self.fixed}


EQUIVALENCE = TaskType(
    name="equivalence",
    choice="Do both questions ask the same?",
    query_word="Query",
    shows_question=True,
    heading="Are these questions equivalent?",
    lead="Choose Yes if both ask the same thing and one answer fits both. Otherwise choose No.",
    ask="Equivalent?",
    asked_aloud="Are the Query and the Question equivalent?",
    asked_of_expert="Are the query and the question equivalent?",
    yes="Yes, equivalent",
    right_yes="both ask the same thing",
    right_no="they do not ask the same thing",
    labels="1: query and question have the same meaning and the same answers; 0: they have not",
    purpose="both questions ask the same",
    positives="ask the same as the query",
    unjudged="ask the same thing",
    keywords=("question ranking", "duplicate questions", "information retrieval"),
    tags=("question-ranking", "duplicate-questions", "question-retrieval", "human-annotated"),
    instructions="instructions.md",
    qualification_items="qualification_items.jsonl",
    control="a query and a question that clearly ask the same, and the answer",
    brings_candidates=False,
    starts={},
    fixed={},
)
ANSWER = TaskType(
    name="answer",
    choice="Is the answer right for the question?",
    query_word="Question",
    shows_question=False,
    heading="Are these answers right?",
    lead="Choose Yes if the answer is right for the question. Otherwise choose No.",
    ask="Right?",
    asked_aloud="Is the Answer right for the Question?",
    asked_of_expert="Is the answer right for the query?",
    yes="Yes, it is right",
    right_yes="the answer is right",
    right_no="the answer is not right for this question",
    labels="1: the answer is right for the query; 0: it is not",
    purpose="the answer is right for the query",
    positives="have a right answer to the query",
    unjudged="are right answers",
    keywords=("question answering", "answer correctness", "information retrieval"),
    tags=("question-answering", "answer-correctness", "human-annotated"),
    instructions="answer_instructions.md",
    qualification_items="answer_qualification_items.jsonl",
    control="a query and an answer that is clearly right for it",
    brings_candidates=True,
    starts={
        "candidates_per_query": 1,
        "title": "Are these answers right?",
        "description": "Read short questions, each with an answer, and say whether it is right.",
        "keywords": "questions, answers, judgment",
    },
    # Without the answer there is nothing to judge, and no second question to mark words of. What
    # comes first is no better: nobody ranked the answers.
    fixed={"show_answer": True, "mark_differences": False, "rank_prior": False},
)
TASKS: Mapping[str, TaskType] = {each.name: each for each in (EQUIVALENCE, ANSWER)}
# The paper's. A policy of it says nothing of its task: it is what it was before there were others.
PAPER_TASK = EQUIVALENCE


def task_of(policy: Mapping[str, Any]) -> TaskType:
    """Of a policy as a campaign, a job or a release stores it."""
    return TASKS[policy.get("task", PAPER_TASK.name)]


def task_defaults(named: object) -> dict[str, Any]:
    """Nothing for the paper's, and where that is no task: the policy refuses it."""
    return next((each.defaults() for each in TASKS.values() if each.name == named), {})
