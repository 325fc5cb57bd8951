"""The whole of it with real workers, of which one is killed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILDER = """
import json
from datetime import timedelta
from pathlib import Path
import django
django.setup()
from django.conf import settings
from django.core.management import call_command
from retrieval import claims, encode, encoding_jobs
from retrieval.ingest import ingest
from retrieval.models import EncodingShard
from retrieval.pairs import database_pairs
from retrieval.store.folder import store_folder
from retrieval.store.shards import sound_shards
from tests.retrieval.keyword_worker import KEYWORDS
from tests.retrieval.keywords import KeywordEncoder

call_command("migrate", "retrieval", verbosity=0)
pairs = settings.DATA_DIR / "pairs.tsv"
pairs.write_text("question\\tanswer\\n" + "".join(f"Rain {n}?\\tSnow.\\n" for n in range(60)))
ingest(pairs, "faq")
encode.SHARD_PAIRS = 5
encoder = KeywordEncoder(KEYWORDS)
identity = encode.identity_of(encoder, "QQ", "float16")
folder = store_folder(settings.INDEX_DIR, identity)
keys = database_pairs().keys
together = list(encoding_jobs.spread(folder, identity, keys, model="keywords"))
assert sorted(s.name for s in sound_shards(folder, identity)) == sorted(s.name for s in together)
apart = settings.DATA_DIR / "apart"
apart.mkdir()
assert list(encode.encode_missing(apart, identity, encoder, keys)) == together
print(json.dumps(list(EncodingShard.objects.values_list("attempts", "claim", "pairs", "state"))))
"""


@contextmanager
def worker(name: str, environment: dict[str, str]) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "--app", "tests.retrieval.keyword_worker", "worker"]
    options = ["--queues", "encoding", "--concurrency", "1", "--hostname", f"{name}@quorum"]
    log = subprocess.DEVNULL
    started = subprocess.Popen(
        [*command, *options], cwd=ROOT, env=environment, stdout=log, stderr=log
    )
    try:
        yield
    finally:
        started.terminate()
        started.wait()


def test_two_workers_share_the_rows_and_make_up_for_one_that_is_killed(tmp_path: Path) -> None:
    environment = os.environ | {
        "QUORUM_DATA": str(tmp_path),
        "QUORUM_DATABASE_URL": "",
        "QUORUM_PASS_SECONDS": "0.5",
        "PYTHONPATH": str(ROOT),
    }
    environment.pop("QUORUM_BROKER_URL", None)
    with ExitStack() as stack:
        stack.enter_context(worker("dying", environment | {"KILLED_ONCE": "1"}))
        stack.enter_context(worker("living", environment))
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
