"""The stack of the demo and the benchmark keeps to this machine, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from config.gunicorn import banner
from demo import processes, programs
from demo.processes import ROOT, StackError
from demo.programs import check_entry, find
from demo.run import next_commands, waits_for_calls
from demo.stack import LocalStack

PORTS = [sys.executable, "-m", "demo.ports"]
PRODUCTION = {
    "QUORUM_DATABASE_URL": "postgresql://quorum:secret@db.example.org/quorum",
    "QUORUM_BROKER_URL": "redis://broker.example.org/0",
    "QUORUM_SECRET_KEY": "production",
    "QUORUM_ENCODER": "another",
    "AWS_ENDPOINT_URL_MTURK": "https://mturk-requester.us-east-1.amazonaws.com",
    "AWS_ENDPOINT_URL": "https://amazonaws.com",
    "AWS_ACCESS_KEY_ID": "AKIAADA",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_PROFILE": "production",
    "CELERY_BROKER_URL": "redis://broker.example.org/0",
    "DJANGO_SETTINGS_MODULE": "elsewhere.settings",
    "PGPASSWORD": "secret",
}
# The first process ends, the others would go on for long.
RUN = """
import sys
from demo import site
site.procfile = lambda: {"web": ["sleep", "60"], "worker": ["sh", "-c", sys.argv[1]]}
sys.exit(site.main(["web", "worker"]))
"""
# Starts something that would sleep for long, and dies.
START_AND_DIE = """
import os, signal, sys
from pathlib import Path
from demo.stack import LocalStack
sleep = "import time; print(1, flush=True); time.sleep(600)"
child = LocalStack(Path(sys.argv[1]))._start([sys.executable, "-c", sleep], stdout=-1)
child.stdout.readline()
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_demo_ends_with_the_commands_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    _, command = next_commands(ROOT / "var" / "demo").splitlines()
    assert command.strip() in readme


def test_a_stack_in_a_production_shell_names_nothing_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in PRODUCTION.items():
        monkeypatch.setenv(name, value)
    environment = LocalStack(tmp_path).environment
    ours = {name for name in environment if name.startswith(processes.OUTSIDE)}
    assert ours == {"QUORUM_DATA", "QUORUM_PUBLIC_URL", "QUORUM_BIND", "AWS_ENDPOINT_URL_MTURK"}
    assert environment["QUORUM_DATA"] == str(tmp_path)
    assert environment["AWS_ENDPOINT_URL_MTURK"].startswith("http://127.0.0.1:")
    programs_of_ours, *others = environment["PATH"].split(os.pathsep)
    assert (Path(programs_of_ours) / "celery").exists()
    assert os.pathsep.join(others) == os.environ["PATH"]


def test_a_port_that_somebody_else_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "SECONDS_TO_FREE_A_PORT", 1)
    local = LocalStack(tmp_path)
    port = local.ports["emulator"]
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(StackError, match=f"another program listens on port {port}"),
        local.servers(),
    ):
        pass


def test_a_server_that_ends_at_once_is_not_taken_for_one_that_answers(tmp_path: Path) -> None:
    local = LocalStack(tmp_path)
    with (
        pytest.raises(StackError, match="the site did not start"),
        local._server("site", [sys.executable, "-c", ""]),
    ):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
def test_the_children_of_a_killed_stack_die_with_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", START_AND_DIE, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert ends(int(done.stdout))


def ends(process: int) -> bool:
    for _ in range(100):
        status = Path(f"/proc/{process}/stat")
        # A zombie has ended, too: nobody may be there to hear of it.
        if not status.exists() or status.read_text().rpartition(") ")[2].startswith("Z"):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("calls", "open_triplets", "submitted", "waits"),
    [(1, 0, 9, True), (1, 5, 7, True), (1, 5, 9, False), (0, 5, 7, False)],
)
def test_the_demo_waits_only_where_the_crowd_has_nothing_to_do(
    calls: int, open_triplets: int, submitted: int, waits: bool
) -> None:
    now = {"messages_waiting": calls, "open": open_triplets, "submitted": submitted}
    assert waits_for_calls({"submitted": 7}, now) is waits


def test_a_missing_server_is_told_with_the_packages_that_bring_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "DEBIAN_POSTGRESQL", f"{tmp_path}/*/bin")
    with pytest.raises(StackError, match=r"no initdb in PATH .* install Debian's packages postgre"):
        find("initdb")


def test_of_two_postgresqls_the_newer_one_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """15 and 9 in this order, and none of them in PATH."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(programs, "DEBIAN_POSTGRESQL", f"{tmp_path}/*/bin")
    for version in ("15", "9"):
        program = tmp_path / version / "bin" / "initdb"
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
    assert find("initdb") == str(tmp_path / "15" / "bin" / "initdb")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as other users")
def test_a_folder_that_the_servers_cannot_enter_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    folder = closed / "services"
    folder.mkdir()
    with pytest.raises(StackError, match=r"cannot enter .*: let QUORUM_SERVICES name a folder"):
        check_entry(folder)


def look_at_ports(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= {"QUORUM_BIND": "127.0.0.1:0"} | more
    command = [*PORTS, str(folder)]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_the_site_over_a_demo_s_folder_finds_its_emulator(tmp_path: Path) -> None:
    elsewhere = "https://mturk-requester.us-east-1.amazonaws.com"
    assert "export" not in look_at_ports(tmp_path).stdout
    url = LocalStack(tmp_path).emulator_url
    found = look_at_ports(tmp_path).stdout
    assert found == f"export AWS_ENDPOINT_URL_MTURK={url}\nemulator=emulator\n"
    assert "export" not in look_at_ports(tmp_path, AWS_ENDPOINT_URL_MTURK=elsewhere).stdout


def test_a_site_that_cannot_listen_is_not_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        refused = look_at_ports(tmp_path, QUORUM_BIND=bind)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is in use, perhaps by another Quorum. Stop it, or choose" in refused.stderr
    for bad in ("127.0.0.1:http", "nowhere.invalid:8000", "127.0.0.1:99999"):
        refused = look_at_ports(tmp_path, QUORUM_BIND=bad)
        assert refused.returncode == 2
        assert refused.stderr.endswith("it must look like 127.0.0.1:8000.\n")
        assert refused.stderr.count("\n") == 1


def test_an_emulator_whose_port_is_taken_leaves_the_site_alone(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        found = look_at_ports(tmp_path, AWS_ENDPOINT_URL_MTURK=url)
    assert (found.returncode, found.stdout) == (0, "emulator=\n")
    assert "choose another port, the same in every terminal" in found.stderr


def test_no_emulator_takes_the_address_of_the_site_s_own_turk(tmp_path: Path) -> None:
    url = "http://127.0.0.1:8000/turk/sandbox/"
    found = look_at_ports(tmp_path, AWS_ENDPOINT_URL_MTURK=url)
    assert (found.returncode, found.stdout, found.stderr) == (0, "emulator=\n", "")


@pytest.mark.parametrize(
    ("ending", "how"),
    [("echo no broker; exit 3", "with status 3"), ("kill -9 $$", "by SIGKILL")],
)
def test_a_process_that_ends_is_named_and_the_site_stops(ending: str, how: str) -> None:
    command = [sys.executable, "-c", RUN, ending]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=50
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"\nError: the process worker ended {how}, so the site was stopped: see the last lines of "
        "worker above, then run `make run` again; nothing is lost.\n"
    )


@pytest.mark.parametrize("seen", ["started", "at work"])  # while they start, and after
def test_a_site_that_people_stop_ends_without_an_error(seen: str) -> None:
    command = [sys.executable, "-c", RUN, "echo at work; sleep 60"]
    with subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1, text=True) as site:
        assert site.stdout
        next(line for line in site.stdout if seen in line)
        site.send_signal(signal.SIGINT)
        assert site.communicate(timeout=50)[1] == ""
    assert site.returncode == 0


@pytest.mark.django_db
def test_the_banner_ends_with_the_address_and_how_to_get_an_account(settings: Settings) -> None:
    settings.PUBLIC_URL = "http://127.0.0.1:8123"
    address, account = banner()
    assert address == "Open http://127.0.0.1:8123"
    sentence, link = account.rsplit(" ", 1)
    assert sentence == "Create the first account:"
    assert link.startswith("http://127.0.0.1:8123/first-account/")
    User.objects.create_user("ada")  # by an invitation, say
    assert banner()[1].startswith(sentence)
    User.objects.create_superuser("root")
    assert banner() == [address]
