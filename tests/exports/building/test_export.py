"""`quorum release build`: what it prints, and how it refuses."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotation.models import Campaign
from exports.models import Build
from tests.exports.support.campaigns import make_campaign
from tests.exports.support.contents import FILES, document
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


def printed(*arguments: str) -> str:
    output = StringIO()
    quorum("release", *arguments, stdout=output)
    return output.getvalue()


def test_it_shows_the_table_and_the_folder(campaign: Campaign, tmp_path: Path) -> None:
    out = tmp_path / "release"
    lines = printed("build", "demo", "--out", str(out)).splitlines()
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["train", "1"],
        ["dev", "1"],
        ["test", "1"],
        ["all", "3"],
    ]
    assert f"release 1: {out} ({len(FILES)} files)" in lines
    assert "the campaign's first release" in lines
    again = printed("build", "demo", "--out", str(out))
    assert f"release 1, already there and unchanged: {out} ({len(FILES)} files)" in again
    assert f"quorum release verify {out}" in again


def test_json_is_one_line_with_the_statistics(campaign: Campaign, tmp_path: Path) -> None:
    out = tmp_path / "release"
    text = printed("build", "demo", "--out", str(out), "--json")
    assert text.count("\n") == 1
    result = json.loads(text)
    assert result["campaign"] == "demo"
    assert result["unchanged"] is False
    assert {Path(path) for path in result["files"]} == {out / name for name in FILES}
    assert result["stats"] == document(out, "stats.json")


def test_partial_is_an_option(tmp_path: Path) -> None:
    make_campaign({"moon": ["ada+ bob+", "ada+", "ada+"]}, dev=0, test=0)
    with pytest.raises(CommandError, match="2 of its 3 triplets are open"):
        printed("build", "demo", "--out", str(tmp_path / "release"))
    printed("build", "demo", "--out", str(tmp_path / "release"), "--partial", "--quiet")
    assert document(tmp_path / "release", "stats.json")["splits"]["train"]["triplets"] == 1


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("nowhere", "There is no campaign 'nowhere'"), ("demo", "holds no release of campaign demo")],
)
def test_a_refusal_is_one_sentence_and_status_2(
    campaign: Campaign, tmp_path: Path, name: str, sentence: str
) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(CommandError, match=sentence) as caught:
        printed("build", name, "--out", str(tmp_path), "--json")
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)


def test_releases_are_listed_and_asked_for(campaign: Campaign, tmp_path: Path) -> None:
    assert "There are no releases yet" in printed("list")
    printed("build", "demo", "--out", str(tmp_path / "release"), "--quiet")
    (line,) = printed("list", "demo").splitlines()
    assert line.startswith("demo 1  ")
    assert line.endswith("3 queries, 8 labels; the campaign's first release")
    with pytest.raises(CommandError, match=r"keep that way \(--split clusters\)"):
        printed("build", "demo", "--split", "random")
    asked = printed("build", "demo", "--no-judgments")
    assert asked.startswith("A worker builds the release")
    assert Build.objects.get(subject="demo", state="queued").options == {
        "partial": False,
        "split": "clusters",
        "judgments": False,
    }
    with pytest.raises(CommandError, match="is being built already"):
        printed("build", "demo")
    assert "demo: the last build is queued" in printed("list")


def test_a_build_that_made_nothing_new_is_told(campaign: Campaign, tmp_path: Path) -> None:
    for name in ("one", "two"):
        printed("build", "demo", "--out", str(tmp_path / name), "--quiet")
    report = printed("list", "demo").splitlines()
    assert report[1:] == [
        "demo: the last build made no release: nothing has changed since release 1"
    ]
