"""In every template: what tables have in each cell. Django's own take several times as long."""

from datetime import UTC, datetime
from unicodedata import combining

from django.template import Library

register = Library()


@register.filter
def clip(text: str, letters: int) -> str:
    """No longer than that, with an ellipsis at the end where something is left out.

    An accent that is a character of its own counts as one, and stays with its letter.
    """
    if len(text) <= letters:
        return text
    end = letters - 1
    while end and combining(text[end]):
        end -= 1
    return f"{text[:end]}…"


@register.filter
def minute(moment: datetime | None) -> str:
    """In UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}" if moment else ""
