"""What is wrong with an environment variable is told in one sentence, by every command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.settings import _served_at

ROOT = Path(__file__).resolve().parents[2]


def refused(data: Path, **variables: str) -> str:
    """The sentence; the exit status is 2 and nothing is printed."""
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=ROOT,
        env=os.environ | {"QUORUM_DATA": str(data)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("QUORUM_DATABASE_URL", "postgresql://ada:secret@db:port/quorum", "must look like postgre"),
        ("QUORUM_DATABASE_URL", "postgresql://ada:secret@db:99999/quorum", "0-65535"),
        ("QUORUM_VECTOR_DATABASE_URL", "mysql://ada:secret@db/quorum", "must look like postgresql"),
        ("QUORUM_DATABASE_URL", "mysql://ada:secret@db/quorum", "must look like postgresql://"),
        ("QUORUM_DATABASE_URL", "postgresql://ada:secret@[db/quorum", "must look like postgresql:"),
        (
            "QUORUM_MILVUS",
            "ada:secret@host:19530",
            "must look like http://user:password@host:19530",
        ),
        ("QUORUM_MILVUS", "http://ada:secret@/x.db", "or be a file that ends in .db"),
        ("QUORUM_MILVUS", "http://ada:secret@host:port", "must look like http://user:password@"),
        ("QUORUM_PUBLIC_URL", "https://[bad", "must look like https://"),
        ("QUORUM_BIND", "127.0.0.1:http", "must look like 127.0.0.1:8000"),
        ("QUORUM_BIND", "unix:/run/quorum.sock", "is a socket, which no browser opens"),
        ("QUORUM_BIND", "fd://3", "set QUORUM_PUBLIC_URL"),
        ("QUORUM_PROLIFIC_FEE", "a third", "must be a percentage such as 33.3, not 'a third'"),
        ("QUORUM_CURRENCY", "$", "must be one of USD, EUR, GBP, not '$'"),
        ("QUORUM_DEBUG", "maybe", "must be 1 or 0, not 'maybe'"),
        ("QUORUM_RELEASES", "s3:///folder", "must look like s3://bucket/folder, or be a folder"),
        ("QUORUM_VECTORS", "s3://[bad", "must look like s3://bucket/folder"),
        ("QUORUM_VECTORS", "s3:", "must look like s3://bucket/folder, or be a folder"),
        ("QUORUM_PASS_SECONDS", "soon", "must be seconds from 0.1 to 86400, not 'soon'"),
        ("QUORUM_PASS_SECONDS", "nan", "must be seconds from 0.1 to 86400"),
        ("QUORUM_RECONCILE_SECONDS", "0", "must be seconds from 0.1 to 86400"),
        ("QUORUM_WORKER_PROCESSES", "0", "must be a whole number from 1 to 1000, not '0'"),
        ("QUORUM_CONTACT", "x" * 201, "must be one line of at most 200 characters, not 201"),
        ("QUORUM_CONTACT", "a\nb", "must be one line"),
        ("QUORUM_EMAIL_URL", "ftp://ada:secret@host", "must look like smtp://user:password@host"),
        ("QUORUM_EMAIL_FROM", "a\nb", "must be one line"),
        ("QUORUM_LOG_FORMAT", "xml", "must be line or json, not 'xml'"),
        ("QUORUM_METRICS_TOKEN", "short-secret", "must have at least 16 ASCII characters"),
        ("QUORUM_LOG_LEVEL", "LOUD", "must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL"),
    ],
)
def test_a_variable_that_says_nothing_useful_is_refused_by_name(
    tmp_path: Path, name: str, value: str, expected: str
) -> None:
    sentence = refused(tmp_path, **{name: value})
    assert sentence.startswith(f"Error: {name} ")
    assert expected in sentence
    assert "secret" not in sentence


@pytest.mark.parametrize(
    ("bind", "public_url"),
    [
        ("127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("192.168.1.5:80", "http://192.168.1.5:80"),
        ("[::1]:9000", "http://[::1]:9000"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000"),
        (":9000", "http://127.0.0.1:9000"),
        ("localhost", "http://localhost:8000"),
    ],
)
def test_links_lead_where_the_site_listens(bind: str, public_url: str) -> None:
    assert _served_at(bind) == public_url


def test_a_log_level_may_be_written_small(tmp_path: Path) -> None:
    assert "QUORUM_DEBUG must be" in refused(tmp_path, QUORUM_LOG_LEVEL="info", QUORUM_DEBUG="x")


def test_a_data_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for folder in (file, file / "below"):
        sentence = refused(folder)
        assert sentence.startswith(f"Error: The data folder {folder} cannot be written (")
        assert "let QUORUM_DATA name a folder that can." in sentence


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs Linux's /proc")
def test_a_data_folder_that_cannot_be_written_is_refused() -> None:
    sentence = refused(Path("/proc"))  # there, not even root can make a file
    assert sentence.startswith("Error: The data folder /proc cannot be written (")


SAID = "from django.conf import settings as s; print(s.SECURE_SSL_REDIRECT, s.SECURE_HSTS_SECONDS)"


@pytest.mark.parametrize(
    ("address", "expected"),
    [("https://quorum.example.org", "True 31536000"), ("http://127.0.0.1:8000", "False 0")],
)
def test_under_https_nothing_is_said_without_it(
    tmp_path: Path, address: str, expected: str
) -> None:
    data = tmp_path / "data"
    environment = {"QUORUM_DATA": str(data), "QUORUM_PUBLIC_URL": address}
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", SAID],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == expected
    assert data.stat().st_mode & 0o777 == 0o700


WRITE = """
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import storages
(settings.DATA_DIR / "new").mkdir()
(settings.DATA_DIR / "new" / "file").touch()
storages["releases"].save("of/a/release", ContentFile(b""))
"""


def test_nobody_else_can_read_what_lies_in_the_data_folder_or_is_written(tmp_path: Path) -> None:
    outside, data = tmp_path / "outside", tmp_path / "data"
    (data / "old").mkdir(parents=True)
    for file in (outside, data / "file", data / "old" / "file"):
        file.touch()
    for path in (outside, data / "file", data / "old" / "file", data / "old", data):
        path.chmod(0o755)
    (data / "old" / "link").symlink_to(outside)
    subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", WRITE],
        cwd=ROOT,
        env=os.environ | {"QUORUM_DATA": str(data), "QUORUM_RELEASES": ""},
        umask=0o022,
        check=True,
    )
    inside = [path for path in (data, *data.rglob("*")) if not path.is_symlink()]
    assert {data / "releases" / "of" / "a" / "release", data / "new" / "file"} < {*inside}
    assert [path for path in inside if path.stat().st_mode & 0o077] == []
    assert outside.stat().st_mode & 0o777 == 0o755
