"""Plain rules about texts: what is stored, and when two questions count as the same one."""

import hashlib
import re
import unicodedata

# NFKC has already turned the full-width forms and the ellipsis into these; the last four are
# the ideographic full stop, the Arabic question mark and full stop, and the danda.
END_PUNCTUATION = "?!.,;:\u3002\u061f\u06d4\u0964"
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f\x80-\x84\x86-\x9f]")
KEY_SEPARATOR = "\x1f"


def clean_text(text: str) -> str:
    """Drop control characters and collapse white space; HTML stays, it is escaped where shown."""
    if not text.isprintable():
        text = CONTROLS.sub("", text)
    return " ".join(text.split())


def in_utf8(text: str) -> str:
    """As it is, with an escape in place of each lone surrogate, which nobody could be sent."""
    return text if is_utf8(text) else text.encode("utf-8", "backslashreplace").decode()


def is_utf8(text: str) -> bool:
    """False where a lone surrogate stands for a byte, or for half a character."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def normalise_question(text: str) -> str:
    """The form in which questions are compared: NFKC, case, white space and end punctuation.

    Folding the case can undo the normal form and the reverse, so the pair is applied twice,
    which makes the result a fixed point. ASCII has but one form.
    """
    if text.isascii():
        text = text.lower()
    else:
        for _ in range(2):
            text = unicodedata.normalize("NFKC", text).casefold()
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.split()).rstrip(END_PUNCTUATION + " ")


def question_key(text: str) -> str:
    """Equal for all copies of a question; 64 hexadecimal digits."""
    return _sha256(normalise_question(text))


def pair_key(question: str, answer: str) -> str:
    """Equal for identical pairs only; 64 hexadecimal digits.

    `clean_text` never leaves the separator in a text, so two pairs cannot run into each other.
    """
    return _sha256(question + KEY_SEPARATOR + answer)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
