"""What a model reads of a triplet: the query t, a candidate's question q and its answer a. Pure.

A selector reads all in one input, `[CLS] t [SEP] ... [SEP]`; QQ: q follows t, QA: a, QQA: q and
a, QAQ: a and q, each with a separator between (QUADRo, section 5.1). A retriever encodes t alone,
and beside it q (QQ), or q and a as one input of two segments (QQA).
"""

from __future__ import annotations

RETRIEVER_FORMS = ("QQ", "QQA")
SELECTOR_FORMS = ("QQ", "QA", "QQA", "QAQ")
IN_WORDS = {
    "QQ": "the question",
    "QA": "the answer",
    "QQA": "the question and its answer",
    "QAQ": "the answer and its question",
}
FORMS = {"retriever": RETRIEVER_FORMS, "selector": SELECTOR_FORMS}  # of each kind of model


NO_QUESTIONS = (
    "The form QQ reads questions alone, and no candidate of {} has one: choose a form that reads "
    "the answer, QQA of a retriever, QA of a selector."
)


def parts(form: str, question: str, answer: str) -> tuple[str, ...]:
    """What follows the query in a selector's input, in order."""
    texts = {"Q": question, "A": answer}
    return tuple(texts[letter] for letter in form[1:])
