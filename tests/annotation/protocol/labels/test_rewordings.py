import pytest

from annotation.protocol.labels.rewordings import ANY_STYLE, Style, rewordings

CORPUS = (
    "How can I open an account?",
    "How can I lose a card?",
    "What is the best way to save?",
    "What is the best way to travel?",
    "Where do I purchase stamps?",
    "When can I purchase a house?",
    "Can you tell me when Easter is?",
    "Can you tell me when to go?",
    "When exactly is Easter?",
    "When exactly do I go?",
    "Does auto insurance, an auto insurance, help?",
)
STYLE = Style.of(CORPUS)


@pytest.mark.parametrize(
    ("question", "rewording"),
    [
        ("How do I close my account?", "How can I close my account?"),
        ("How do I close my account?", "What is the best way to close my account?"),
        ("Where can I buy stamps?", "Where can I purchase stamps?"),
        ("Is the card free?", "The card free?"),
        ("Did you see the card?", "Did you see card?"),
        ("What are the symptoms of flu?", "Symptoms of flu?"),
        ("Can I travel to Spain if my card expires?", "If my card expires, can I travel to Spain?"),
        ("Should I travel when it rains?", "When it rains, should I travel?"),
        ("How is bread made?", "How bread is made?"),
        (
            "Can I open an account for my son in Spain?",
            "In Spain, can I open an account for my son?",
        ),
        ("What are the symptoms of flu?", "What are flu's symptoms?"),
        ("What are the symptoms of flu?", "What are flu symptoms?"),
        ("When does the bank open?", "Can you tell me when does the bank open?"),
        ("When does the bank open?", "When exactly does the bank open?"),
        ("How is a car insured by car insurance?", "How is a car insured by auto insurance?"),
        ("Is a car insurance needed?", "Is an auto insurance needed?"),
        ("Where is Mount Everest located?", "Where Mount Everest is located?"),
        ("Where Can I Buy Stamps?", "Where Can I Purchase Stamps?"),
        ("where can i buy stamps", "where can i purchase stamps"),
    ],
)
def test_a_question_is_asked_in_other_words(question: str, rewording: str) -> None:
    assert rewording in rewordings(question, STYLE)


def test_what_the_corpus_does_not_say_is_not_said() -> None:
    """Nobody asks there "how to", nor "how do you"."""
    found = rewordings("How do I close my account?", STYLE)
    assert not any(text.startswith(("How to", "How do you")) for text in found)


@pytest.mark.parametrize(
    "question",
    [
        "How hot should water be?",
        "What is cappuccino made of?",
        "What's the best grind?",
    ],
)
def test_no_question_is_put_behind_words_that_change_its_order(question: str) -> None:
    """ "I need to know what is it" is no English."""
    assert not any("know" in text or "tell" in text for text in rewordings(question, ANY_STYLE))
    assert "I need to know how coffee keeps fresh?" in rewordings(
        "How coffee keeps fresh?", ANY_STYLE
    )


def test_the_place_of_a_clause_stays_with_it() -> None:
    found = rewordings("Is a loan paid if you are let go from your job?", ANY_STYLE)
    assert not any(text.startswith("From your job") for text in found)


@pytest.mark.parametrize("statement", ["The app is slow.", "Some cards are red."])
def test_a_statement_is_not_made_a_question(statement: str) -> None:
    assert not any(text.startswith(("What", "Which")) for text in rewordings(statement, ANY_STYLE))


def test_unless_anything_may_be_said() -> None:
    assert "Some ideas?" in rewordings("What are some ideas?", ANY_STYLE)
    assert "Some ideas?" not in rewordings("What are some ideas?", STYLE)


def test_each_is_far_from_the_question_and_from_those_before_it() -> None:
    first, second, *_ = rewordings("How do I close the account?", STYLE)
    assert first == "What is best way to close account?"
    assert second == "How can I close account?"


def test_the_question_itself_is_none_of_them_whatever_its_case_and_end() -> None:
    assert rewordings("Why?", STYLE) == []
    same = {text.casefold().rstrip("?") for text in rewordings("Where can I buy stamps", STYLE)}
    assert "where can i buy stamps" not in same
