"""What a spreadsheet would take for more than a text."""

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def harmless(cell: object) -> object:
    """A text that a spreadsheet would take for a formula is quoted; nothing is an empty cell."""
    if isinstance(cell, str) and cell.startswith(FORMULA):
        return f"'{cell}"
    return "" if cell is None else cell
