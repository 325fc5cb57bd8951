"""`quorum import turk`, as users and scripts meet it."""

import json
import os
import re
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError

from annotation.models import PastRecord
from tests.annotation.commands.test_commands import run
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).parents[3]
FILES = ROOT / "tests/annotation/pipeline/history/files"
DOCS = (ROOT / "docs/moving-in.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(FILES, tmp_path / "history"))


def refused(*words: str) -> str:
    """What is printed where some of the files cannot be used; the exit status is 2."""
    out = StringIO()
    with pytest.raises(CommandError) as refusal:
        quorum("import", "turk", *words, stdout=out)
    assert refusal.value.returncode == 2
    assert "1 of " in str(refusal.value)
    return out.getvalue()


def test_the_example_of_the_docs_prints_what_they_say(folder: Path) -> None:
    example = re.search(r"```\n\$ quorum (.*?)\n(.*?)```", DOCS, re.DOTALL)
    assert example
    assert run(*example[1].split()) == example[2]


def test_the_docs_name_the_columns_by_which_each_kind_of_file_is_known(folder: Path) -> None:
    rows = re.findall(r"^\| [^|]+ \| (`[^|]+`) \|", DOCS, re.MULTILINE)
    assert len(rows) == 9
    for columns in rows:
        record = dict.fromkeys(re.findall(r"`(.*?)`", columns), "1")
        times = {"CreationTime": "1", "AcceptTime": "1"} if "Turkle.Username" in record else {}
        (folder / "one.jsonl").write_text(json.dumps(record | times))
        (file,) = json.loads(run("import", "turk", "history/one.jsonl", "--json"))["files"]
        assert file["faulty"] == 0, columns


def test_a_file_that_cannot_be_used_keeps_no_other_out(folder: Path) -> None:
    (folder / "layout.html").write_text("<p>${question}</p>")
    (folder / ".hidden.csv").write_text("nothing")
    printed = refused("history")
    assert printed.splitlines()[-1].startswith("history/layout.html is a template, not work")
    assert "hidden" not in printed
    assert PastRecord.objects.count() == 14
    assert refused("none.csv") == "There is no file none.csv: check the path.\n"
    (file,) = json.loads(refused("history/layout.html", "--json"))["files"]
    assert file.keys() == {"file", "refused"}


def test_names_and_texts_that_no_terminal_should_get_are_made_harmless(folder: Path) -> None:
    name = os.fsdecode(b"\xff\x1b[2J.csv")
    (folder / name).write_text("HITId,AssignmentId,WorkerId,Answer.\x1b\nH,S,A,a\0\n")
    for words in ([], ["--json"]):
        printed = run("import", "turk", f"history/{name}", *words)
        assert "\x1b" not in printed
        assert "has a NUL character" in printed
        printed.encode()
