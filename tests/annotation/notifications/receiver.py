"""A receiver of webhooks: a real HTTP server in a thread, which answers as it is told to."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Receiver:
    url: str = ""
    status: int = 204
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    asked: int = 0  # how often, whatever the answer was
    answered: int = 0

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in self.got]


@contextmanager
def receiving(*, seconds: float = 0) -> Iterator[Receiver]:
    """`seconds`: after which it answers."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.asked += 1
            if receiver.status < 300:
                lower = {name.lower(): value for name, value in self.headers.items()}
                receiver.got.append((lower, body))
            time.sleep(seconds)
            receiver.answered += 1
            self.send_response(receiver.status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
