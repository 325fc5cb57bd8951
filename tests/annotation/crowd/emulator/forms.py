"""XML that requesters send, for the tests of this folder."""

from annotation.crowd.emulator.question.document import ANSWER_KEY, HTML_QUESTION, QUESTION_FORM

TEXT = "<Text>What is it?</Text>"
FREE_TEXT = "<FreeTextAnswer/>"


def question_form(inside: str, namespace: str = QUESTION_FORM) -> str:
    return f'<QuestionForm xmlns="{namespace}">{inside}</QuestionForm>'


def overview(inside: str) -> str:
    return f"<Overview>{inside}</Overview>"


def asked(
    identifier: str,
    answer: str = FREE_TEXT,
    *,
    content: str = TEXT,
    name: str = "",
    required: bool = False,
) -> str:
    named = f"<DisplayName>{name}</DisplayName>" if name else ""
    return (
        f"<Question><QuestionIdentifier>{identifier}</QuestionIdentifier>{named}"
        f"<IsRequired>{str(required).lower()}</IsRequired>"
        f"<QuestionContent>{content}</QuestionContent>"
        f"<AnswerSpecification>{answer}</AnswerSpecification></Question>"
    )


def free_text(constraints: str = "", rest: str = "") -> str:
    return f"<FreeTextAnswer><Constraints>{constraints}</Constraints>{rest}</FreeTextAnswer>"


def choice(
    *identifiers: str, style: str = "radiobutton", low: int = 1, high: int = 1, other: str = ""
) -> str:
    selections = "".join(
        f"<Selection><SelectionIdentifier>{each}</SelectionIdentifier><Text>Choose {each}</Text>"
        "</Selection>"
        for each in identifiers
    )
    return (
        f"<SelectionAnswer><MinSelectionCount>{low}</MinSelectionCount>"
        f"<MaxSelectionCount>{high}</MaxSelectionCount>"
        f"<StyleSuggestion>{style}</StyleSuggestion>"
        f"<Selections>{selections}{other}</Selections></SelectionAnswer>"
    )


def answer_key(scores: dict[str, dict[str, int]], mapping: str = "") -> str:
    """`scores`: question -> selections joined by + -> score."""
    questions = "".join(
        f"<Question><QuestionIdentifier>{identifier}</QuestionIdentifier>"
        + "".join(_option(chosen, score) for chosen, score in options.items() if chosen)
        + (f"<DefaultScore>{options['']}</DefaultScore>" if "" in options else "")
        + "</Question>"
        for identifier, options in scores.items()
    )
    mapped = mapping and f"<QualificationValueMapping>{mapping}</QualificationValueMapping>"
    return f'<AnswerKey xmlns="{ANSWER_KEY}">{questions}{mapped}</AnswerKey>'


def _option(chosen: str, score: int) -> str:
    selections = "".join(
        f"<SelectionIdentifier>{each}</SelectionIdentifier>" for each in chosen.split("+")
    )
    return f"<AnswerOption>{selections}<AnswerScore>{score}</AnswerScore></AnswerOption>"


def html_question(html: str, height: int = 450) -> str:
    return (
        f'<HTMLQuestion xmlns="{HTML_QUESTION}"><HTMLContent><![CDATA[{html}]]></HTMLContent>'
        f"<FrameHeight>{height}</FrameHeight></HTMLQuestion>"
    )
