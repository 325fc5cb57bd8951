"""In every template: what tables have in each cell. Django's own take several times as long."""

from datetime import UTC, datetime

from django.template import Library

register = Library()


@register.filter
def clip(text: str, letters: int) -> str:
    """No longer than that, with an ellipsis at the end where something is left out."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


@register.filter
def minute(moment: datetime | None) -> str:
    """In UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}" if moment else ""
