"""What keeps an emulator from starting."""


class StartError(Exception):
    """The server cannot start: one sentence that says what to do."""
