class UserError(Exception):
    """One sentence for the user: what was wrong, where, and what to do about it."""
