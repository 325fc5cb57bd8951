"""The whole of it with real workers, of which one is killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILDER = """
import json
from datetime import timedelta
from pathlib import Path
import django
django.setup()
from django.conf import settings
from django.core.management import call_command
from core import leases
from retrieval.indexing import encode
from retrieval.indexing import distributed
from retrieval.corpus.ingest import ingest
from retrieval.models import EncodingShard
from retrieval.vectors.pair_keys import database_pairs
from retrieval.vectors.folder import store_folder
from retrieval.vectors.shards import sound_shards
from tests.retrieval.indexing.keyword_worker import KEYWORDS
from tests.retrieval.encoders.keywords import KeywordEncoder

call_command("migrate", "retrieval", verbosity=0)
pairs = settings.DATA_DIR / "pairs.tsv"
pairs.write_text("question\\tanswer\\n" + "".join(f"Rain {n}?\\tSnow.\\n" for n in range(60)))
ingest(pairs, "faq")
encode.SHARD_PAIRS = 5
encoder = KeywordEncoder(KEYWORDS)
identity = encode.identity_of(encoder, "QQ", "float16")
folder = store_folder(settings.INDEX_DIR, identity)
keys = database_pairs().keys
together = list(distributed.spread(folder, identity, keys, model="keywords"))
assert sorted(s.name for s in sound_shards(folder, identity)) == sorted(s.name for s in together)
apart = settings.DATA_DIR / "apart"
apart.mkdir()
assert list(encode.encode_missing(apart, identity, encoder, keys)) == together
print(json.dumps(list(EncodingShard.objects.values_list("attempts", "claim", "pairs", "state"))))
"""


@contextmanager
def two_workers(environment: dict[str, str]) -> Iterator[None]:
    """Processes of one parent, which starts another one for one that is killed."""
    command = [
        sys.executable,
        "-m",
        "celery",
        "--app",
        "tests.retrieval.indexing.keyword_worker",
        "worker",
    ]
    options = ["--queues", "encoding", "--concurrency", "2"]
    log = subprocess.DEVNULL
    started = subprocess.Popen(
        [*command, *options],
        cwd=ROOT,
        env=environment,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(started.pid, signal.SIGKILL)  # all of them; a shutdown takes ten seconds
        started.wait()


def test_two_workers_share_the_rows_and_make_up_for_one_that_is_killed(tmp_path: Path) -> None:
    environment = os.environ | {
        "QUORUM_DATA": str(tmp_path),
        "QUORUM_DATABASE_URL": "",
        "QUORUM_PASS_SECONDS": "0.5",
        "PYTHONPATH": str(ROOT),
        "KILLED_ONCE": "1",
    }
    environment.pop("QUORUM_BROKER_URL", None)
    with two_workers(environment):
        builder = subprocess.run(
            [sys.executable, "-c", BUILDER],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert builder.returncode == 0, builder.stderr
    rows = json.loads(builder.stdout.splitlines()[-1])
    assert (tmp_path / "killed").exists()
    assert sorted(attempts for attempts, *_ in rows) == [1] * 11 + [2]
    # No two rows were claimed in one go, and each pair is in one row.
    assert len({claim for _, claim, *_ in rows}) == 12
    assert [(pairs, state) for *_, pairs, state in rows] == [(5, "done")] * 12
