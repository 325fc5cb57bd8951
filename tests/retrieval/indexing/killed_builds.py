"""Builds that are killed at seeded points, each followed by one that is not: a program of its own.

A point is a progress, a file opened for writing or put in its place, or the row of the version.
Each build is a process forked from this one, so that the libraries are loaded once.
"""

import json
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from retrieval.corpus.ingest import ingest  # noqa: E402
from retrieval.index.lazy import index_class  # noqa: E402
from retrieval.index.open_index import open_index  # noqa: E402
from retrieval.index.versions import current_index  # noqa: E402
from retrieval.indexing import encode  # noqa: E402
from retrieval.indexing.build import build_index  # noqa: E402
from retrieval.indexing.plan import BuildOptions  # noqa: E402
from retrieval.models import IndexVersion, QaPair  # noqa: E402
from retrieval.vectors import checksums  # noqa: E402
from retrieval.vectors.types import unpacked  # noqa: E402
from tests.retrieval.encoders.keywords import KeywordEncoder  # noqa: E402

WORDS = ["rain", "snow", "hail", "sun", "wind", "fog", "ice"]
ENCODER = KeywordEncoder(" ".join(WORDS))
PAIRS = 50
LATER = 5  # of them come after the version before


class Points:
    """Counts them, and kills the process at one."""

    def __init__(self, fatal: int | None) -> None:
        self.fatal, self.count = fatal, 0

    def pass_one(self, *_: object) -> None:
        self.count += 1
        if self.count == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        root = str(settings.INDEX_DIR)
        written = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if (event == "os.rename" or written) and str(arguments[0]).startswith(root):
            self.pass_one()

    @contextmanager
    def watched(self) -> Iterator[None]:
        def statement(execute: Any, sql: str, *rest: Any) -> Any:
            if "retrieval_indexversion" in sql and not sql.startswith("SELECT"):
                self.pass_one()
            return execute(sql, *rest)

        sys.addaudithook(self.audit)
        with connection.execute_wrapper(statement):
            yield


def build(kind: str, points: Points) -> None:
    with points.watched():
        build_index(
            "unused", "QQ", progress=points.pass_one, encoder=ENCODER,
            options=BuildOptions(kind=kind),
        )  # fmt: skip


def found() -> list[Any]:
    """What a search finds for each word, by the pairs' keys."""
    index = open_index(current_index())
    positions, scores = index.search(ENCODER.encode_questions(WORDS), 10, index.excluded())
    keys = unpacked(index.store.keys[positions.ravel()])
    return [keys, scores.tolist()]


def forked(work: Callable[[], object], answer: Path) -> int:
    """The process's exit status; what `work` returned is in the file."""
    connection.close()
    if not (child := os.fork()):
        try:
            answer.write_text(json.dumps(work()))
            os._exit(0)
        except BaseException:  # noqa: BLE001 of a process that ends here
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1]


def fill() -> None:
    call_command("migrate", "retrieval", verbosity=0)
    path = settings.DATA_DIR / "pairs.tsv"
    often = random.Random(3)  # no two score alike: an approximate index may find either
    questions = (" ".join(f"{word} " * often.randrange(20) for word in WORDS) for _ in range(PAIRS))
    path.write_text("question\tanswer\n" + "".join(f"{q}\tSnow.\n" for q in questions))
    ingest(path, "faq")


def with_a_version_before(kind: str) -> None:
    """In an empty folder."""
    IndexVersion.objects.all().delete()
    later = QaPair.objects.filter(pk__gt=PAIRS - LATER)
    later.update(withdrawn_at=timezone.now())
    build(kind, Points(None))
    later.update(withdrawn_at=None)
    QaPair.objects.filter(pk=1).update(withdrawn_at=timezone.now())


def undisturbed(kind: str) -> list[Any]:
    with_a_version_before(kind)
    points = Points(None)
    build(kind, points)
    return [points.count, found()]


def resumed(kind: str) -> list[Any]:
    build(kind, Points(None))
    return found()


def main(kind: str, kills: int) -> None:
    fill()
    encode.SHARD_PAIRS = 20
    checksums.SETTLED_NS = 1 << 62  # else what is written depends on the time
    index_class(kind)  # loads its library
    answer = Path(settings.DATA_DIR) / "answer.json"

    def asked(number: int, work: Callable[[], object]) -> Any:
        settings.INDEX_DIR = Path(settings.DATA_DIR) / f"index-{number}"
        settings.INDEX_DIR.mkdir(exist_ok=True)
        settings.MILVUS = str(settings.INDEX_DIR / "milvus.db")  # its files are points too
        answer.unlink(missing_ok=True)
        status = forked(work, answer)
        return json.loads(answer.read_text()) if status == 0 else status

    count, expected = asked(0, lambda: undisturbed(kind))
    # The last is the version's row.
    fatal = {count, *random.Random(6).sample(range(1, count), kills - 1)}
    for point in sorted(fatal):
        asked(point, lambda: with_a_version_before(kind))
        status = asked(point, partial(build, kind, Points(point)))
        assert status == signal.SIGKILL, (point, status)
        assert asked(point, lambda: resumed(kind)) == expected, point
    print(f"{count} points, killed at {sorted(fatal)}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
