import re
import secrets

FORM = "[0-9a-f]{32}"


def new_id() -> str:
    """Not to be guessed, and no dash in front: people type it after a command."""
    return secrets.token_hex(16)


def is_id(text: str) -> bool:
    """Whether it may be one; a database cannot even be asked for some other texts."""
    return re.fullmatch(FORM, text) is not None
