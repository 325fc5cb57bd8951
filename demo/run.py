"""The whole job on the demo's data, with the commands a user would type.

    make demo

Starts the MTurk emulator and the site on loopback, then runs `manage.py` step by step in the data
folder of QUORUM_DATA. Killed anywhere, the next run goes on where this one stopped.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("QUORUM_DATA") or ROOT / "var" / "demo").resolve()
RELEASE = DATA / "release"
NAME = "demo"
QUERIES = 40
SEED = 20
CROWD = ["--workers", "18", "--accuracy", "0.97", "--spammers", "0.12", "--assignments", "120"]
MOST_ROUNDS = 60


class DemoError(Exception):
    """Why the demo cannot go on."""


def main() -> int:
    DATA.mkdir(parents=True, exist_ok=True)
    try:
        run_demo()
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


def run_demo() -> None:
    began = time.monotonic()
    ports = remembered_ports()
    environment = os.environ | {
        "QUORUM_DATA": str(DATA),
        "QUORUM_PUBLIC_URL": f"http://127.0.0.1:{ports['site']}",
        "AWS_ENDPOINT_URL_MTURK": f"http://127.0.0.1:{ports['emulator']}",
    }
    manage(environment, "migrate", "--verbosity", "0")
    refuse_other_data(environment)
    manage(environment, "ingest", "demo/qa_pairs.jsonl", "--source", "demo", "--license", "CC0-1.0")
    manage(environment, "index")
    manage(environment, "controls", "import")
    if campaign_status(environment) is None:
        create = ["campaign", "create", NAME, "--sample", str(QUERIES), "--seed", str(SEED)]
        manage(environment, *create)
    manage(environment, "campaign", "retrieve", NAME)
    manage(environment, "campaign", "quote", NAME)
    manage(environment, "campaign", "pack", NAME)
    with emulator(environment, ports["emulator"]), site(environment, ports["site"]):
        manage(environment, "doctor")
        manage(environment, "campaign", "publish", NAME)
        judge(environment)
    check_quality_control(environment)
    manage(environment, "export", NAME, "--out", str(RELEASE))
    print(f"\nThe whole job took {time.monotonic() - began:.0f} s.")


def judge(environment: dict[str, str]) -> None:
    """The crowd works, the campaign collects, in turns, until no vote is missing."""
    gold = ["--gold", "demo/gold.jsonl", "--gold", "annotation/controls/positive.jsonl"]
    for _ in range(MOST_ROUNDS):
        status = campaign_status(environment) or {}
        if finished(status):
            return
        manage(environment, "crowd", "run", "--seed", str(SEED), *CROWD, *gold)
        manage(environment, "campaign", "collect", NAME)
    raise DemoError(f"after {MOST_ROUNDS} rounds votes are still missing: {status}")


def finished(status: dict[str, int]) -> bool:
    return not status["open"] and not status["calls_waiting"] and not status["to_review"]


def check_quality_control(environment: dict[str, str]) -> None:
    """The demo shows every rule at work, or it fails."""
    status = campaign_status(environment) or {}
    shown = {
        "rejected assignment": status["rejected"],
        "tie broken": status["ties"],
        "worker excluded": status["excluded_workers"],
        "vote of an excluded worker bought again": status["votes_discarded"],
    }
    if missing := [what for what, times in shown.items() if not times]:
        raise DemoError(f"the campaign ended without a single {' or '.join(missing)}")


def manage(environment: dict[str, str], *arguments: str) -> None:
    """Run one command as a user would, its output and progress bars in full sight."""
    print(f"\n$ manage.py {' '.join(arguments)}", flush=True)
    done = subprocess.run(command(*arguments), cwd=ROOT, env=environment, check=False)
    if done.returncode:
        raise DemoError(f"`manage.py {' '.join(arguments)}` ended with {done.returncode}")


def campaign_status(environment: dict[str, str]) -> dict[str, int] | None:
    arguments = command("campaign", "status", NAME, "--json")
    done = subprocess.run(
        arguments, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
    return dict(json.loads(done.stdout)) if done.returncode == 0 else None


def refuse_other_data(environment: dict[str, str]) -> None:
    """The demo's pairs do not belong among anybody's own."""
    others = "QaPair.objects.exclude(source='demo').count()"
    script = f"from retrieval.models import QaPair; print({others})"
    done = subprocess.run(
        command("shell", "--verbosity", "0", "-c", script),
        cwd=ROOT,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    if int(done.stdout.split()[-1]):
        raise DemoError(f"{DATA} holds other pairs than the demo's: name a new QUORUM_DATA")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "manage.py", *arguments]


def remembered_ports() -> dict[str, int]:
    """Free ports, chosen once: published HITs name them."""
    path = DATA / "ports.json"
    if not path.exists():
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            ports = {"emulator": one.getsockname()[1], "site": other.getsockname()[1]}
        path.write_text(json.dumps(ports))
    return dict(json.loads(path.read_text()))


@contextmanager
def emulator(environment: dict[str, str], port: int) -> Iterator[None]:
    state = str(DATA / "emulator.sqlite3")
    arguments = command("mturk_emulator", "--port", str(port), "--state", state)
    with server(arguments, environment, f"http://127.0.0.1:{port}/"):
        yield


@contextmanager
def site(environment: dict[str, str], port: int) -> Iterator[None]:
    gunicorn = [sys.executable, "-m", "gunicorn", "config.wsgi", "--config", "config/gunicorn.py"]
    bound = environment | {"QUORUM_BIND": f"127.0.0.1:{port}"}
    with server(gunicorn, bound, f"http://127.0.0.1:{port}/health"):
        yield


@contextmanager
def server(arguments: list[str], environment: dict[str, str], url: str) -> Iterator[None]:
    """A process of its own while the block runs; its output goes to a log in the data folder."""
    log = DATA / f"{'emulator' if 'mturk_emulator' in arguments else 'site'}.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            arguments, cwd=ROOT, env=environment, stdout=output, stderr=output
        )
        try:
            wait_until_up(process, url, log)
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)


def wait_until_up(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise DemoError(f"the server of {url} did not start: see {log}")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise DemoError(f"the server of {url} does not answer: see {log}")


if __name__ == "__main__":
    sys.exit(main())
