"""Pages of results and the tokens that lead from one to the next."""

import base64
import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

from annotation.crowd.emulator.errors import invalid
from annotation.crowd.wire.session import Row

DEFAULT_RESULTS = 10
MAC_BYTES = 16


@dataclass(frozen=True)
class Page:
    rows: list[Row]
    token: str | None

    def answer(self, name: str, items: list[dict[str, object]]) -> dict[str, object]:
        following = {"NextToken": self.token} if self.token else {}
        return {"NumResults": len(items), name: items, **following}


class Pager:
    """Tokens say where a page ended. They are signed, and good for one query only."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def page(
        self,
        query: str,
        token: str | None,
        limit: int,
        fetch: Callable[[int | None, int], list[Row]],
    ) -> Page:
        """`fetch(after, count)`: rows that follow `after` in `position`, or the first ones."""
        after = None if token is None else self._read(query, token)
        rows = fetch(after, limit + 1)
        if len(rows) <= limit:
            return Page(rows, None)
        return Page(rows[:limit], self._write(query, rows[limit - 1]["position"]))

    def _write(self, query: str, position: int) -> str:
        text = str(position).encode()
        return base64.urlsafe_b64encode(self._mac(query, text) + text).decode()

    def _read(self, query: str, token: str) -> int:
        try:
            data = base64.b64decode(token.encode(), altchars=b"-_", validate=True)
        except ValueError as error:
            raise invalid("NextToken is not one of ours.") from error
        mac, text = data[:MAC_BYTES], data[MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(query, text)):
            raise invalid("NextToken is not one of ours, or belongs to another query.")
        return int(text)

    def _mac(self, query: str, text: bytes) -> bytes:
        message = query.encode() + b"\0" + text
        return hmac.new(self._secret, message, hashlib.sha256).digest()[:MAC_BYTES]
