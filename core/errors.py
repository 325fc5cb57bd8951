OUT_OF_MEMORY = (
    "This needs more memory than there is, or than the process may have: give it more, or do it in "
    "smaller parts."
)


class UserError(Exception):
    """One sentence for the user: what was wrong, where, and what to do about it."""
