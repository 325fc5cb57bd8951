"""Which errors tell of a disk that is full: of a file, or of the database."""

import errno

FULL = (errno.ENOSPC, errno.EDQUOT)
# As SQLite and PostgreSQL say it; a disk that fills up under SQLite may look like a broken one.
FULL_WORDS = ("database or disk is full", "disk I/O error", "No space left on device")


def is_full(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in FULL
    return any(words in str(error) for words in FULL_WORDS)
