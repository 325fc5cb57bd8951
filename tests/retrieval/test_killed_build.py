"""A process that is killed while it builds an index, and the next one."""

import os
import subprocess
import sys
from pathlib import Path

BUILD = """
import os, signal, sys
import django
django.setup()
from django.core.management import call_command
from django.conf import settings
from retrieval import build, encode, search
from retrieval.ingest import ingest
from retrieval.models import IndexVersion
from tests.retrieval.keywords import KeywordEncoder

call_command("migrate", "retrieval", verbosity=0)
pairs = settings.DATA_DIR / "pairs.tsv"
pairs.write_text("question\\tanswer\\n" + "".join(f"Rain {n}?\\tSnow.\\n" for n in range(50)))
ingest(pairs, "faq")
assert not IndexVersion.objects.exists()
encode.SHARD_PAIRS = 20

def report(increment):
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)

index = build.build_index("unused", "QQ", encoder=KeywordEncoder("rain"), progress=report)
assert search.current_index() == index
print(index.path)
"""


def run(data_dir: Path, fate: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "QUORUM_DATA": str(data_dir), "QUORUM_DATABASE_URL": ""}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", BUILD, fate]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_killed_build_leaves_whole_shards_and_the_next_one_goes_on(tmp_path: Path) -> None:
    assert run(tmp_path, "killed").returncode == -9
    assert len(list((tmp_path / "index").glob("stores/*/shard-*.json"))) == 1
    assert not list((tmp_path / "index").glob("versions/*"))
    second = run(tmp_path, "spared")
    assert second.returncode == 0, second.stderr
    assert len(list((tmp_path / "index").glob("stores/*/shard-*.json"))) == 3
    assert [path.name for path in (tmp_path / "index" / "versions").iterdir()] == [
        second.stdout.strip()
    ]
