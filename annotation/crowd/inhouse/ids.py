import secrets


def new_id() -> str:
    """Not to be guessed, and no dash in front: people type it after a command."""
    return secrets.token_hex(16)
