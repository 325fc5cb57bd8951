"""Values of a JSON file, streamed: one list of them, or one after another, as on lines."""

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.files.open import check_is_file, open_unpacked
from core.progress import Progress, no_progress

CHUNK = 1 << 16  # bytes
LONGEST = 10_000_000  # characters of one value
BETWEEN = re.compile(r"[\s,]*")
# Numbers stay as they are written: money is exact, and no number is too long.
DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def json_values(path: Path, progress: Progress = no_progress) -> Iterator[Any]:
    """A byte that is not UTF-8 becomes a lone surrogate, as no valid text has."""
    check_is_file(path)
    with open_unpacked(path) as (stream, raw):
        decode = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        text, at, ended, in_list, number, reported = "", 0, False, False, 0, 0
        while True:
            at = BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # nothing matches too
            if text.startswith("]" if in_list else "[", at):
                in_list, at = not in_list, at + 1
                continue
            try:
                value, at = DECODER.raw_decode(text, at)
            except (json.JSONDecodeError, RecursionError) as error:
                if ended and at == len(text) and not in_list:
                    return
                if ended or len(text) - at > LONGEST or isinstance(error, RecursionError):
                    raise UserError(_fault(path, number, at == len(text))) from error
            else:
                number += 1
                yield value
                continue
            # Twice as much each time: a long value is not tried again and again.
            data = stream.read(max(CHUNK, len(text) - at))
            ended = not data
            text, at = text[at:] + decode(data, ended), 0
            progress(raw.tell() - reported)
            reported = raw.tell()


def _fault(path: Path, number: int, at_end: bool) -> str:
    if at_end:
        return f"{path} ends within a list, after {number:,} records: get the file again."
    return (
        f"Record {number + 1:,} of {path} is not JSON, or has more than {LONGEST:,} characters: "
        "write JSON objects, one to a line or in a list."
    )
