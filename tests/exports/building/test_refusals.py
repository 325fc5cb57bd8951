"""What no release is made of, and where none is written: one sentence, and nothing is left."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.models import Campaign, Triplet, Worker
from core.errors import UserError
from core.files.work_folder import unfinished
from exports.building.export import export
from exports.building.options import Options
from tests.exports.support.campaigns import VERDICTS, make_campaign
from tests.exports.support.contents import FILES, contents

pytestmark = pytest.mark.django_db
UNPRIVILEGED = 65_534


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


def refusal(campaign: Campaign, out: Path, *, partial: bool = False) -> str:
    before = sorted(out.parent.iterdir()) if out.parent.is_dir() else None
    with pytest.raises(UserError) as caught:
        export(campaign, out, options=Options(partial=partial))
    assert before is None or sorted(out.parent.iterdir()) == before
    return str(caught.value)


def test_an_unfinished_campaign_is_refused_with_the_counts(tmp_path: Path) -> None:
    campaign = make_campaign(VERDICTS | {"tea": ["ada+ bob+", "ada+", "ada+ bob-"]})
    assert refusal(campaign, tmp_path / "release") == (
        "Campaign demo is not finished, 2 of its 9 triplets are open: collect their votes first, "
        "or leave them out (on the command line by --partial)."
    )


def test_a_campaign_without_any_label_is_refused_even_in_part(tmp_path: Path) -> None:
    campaign = make_campaign({"moon": ["ada+", "", ""]})
    assert refusal(campaign, tmp_path / "release", partial=True) == (
        "None of campaign demo's 3 triplets has a label yet: "
        "`quorum campaign status demo` shows its progress."
    )


def test_too_few_complete_queries_are_refused_with_the_counts(tmp_path: Path) -> None:
    campaign = make_campaign(train=0, dev=1, test=2)
    assert refusal(campaign, tmp_path / "release") == (
        "Campaign demo cannot be split as its policy wants: dev and test want 3 queries (1 + 2) "
        "all of whose candidates have a label, but only 2 of 3 are complete. Collect the missing "
        "votes, give a campaign smaller splits, or split it at random (--split random), "
        "which may put near-duplicates into different splits."
    )


def test_a_label_that_its_votes_do_not_make_is_refused(campaign: Campaign, tmp_path: Path) -> None:
    stale = Triplet.objects.filter(label=1).first()
    assert stale is not None
    Triplet.objects.filter(pk=stale.pk).update(label=0)
    assert refusal(campaign, tmp_path / "release") == (
        f"The label of triplet {stale.pk} is not the one its 2 valid votes make: "
        "run `quorum campaign collect demo` first."
    )


def test_the_votes_of_a_worker_excluded_since_make_no_release(
    campaign: Campaign, tmp_path: Path
) -> None:
    bob = Worker.objects.get(worker_id="bob")
    campaign.exclusions.create(worker=bob, failures=5, reviewed=10)
    assert "is not the one its 1 valid votes make" in refusal(campaign, tmp_path / "release")


def test_a_folder_with_anything_else_in_it_is_left_alone(
    campaign: Campaign, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    assert refusal(campaign, tmp_path) == (
        f"{tmp_path} is not empty and holds no release of campaign demo: choose another folder by "
        "--out."
    )
    assert contents(tmp_path) == {"thesis.tex": b"mine"}


@pytest.mark.parametrize("manifest", ["", "[]", "{", '{"campaign": "demo"}', "\ud800"])
def test_a_manifest_of_something_else_makes_no_release(
    campaign: Campaign, tmp_path: Path, manifest: str
) -> None:
    written = manifest.encode(errors="surrogatepass")
    (tmp_path / "manifest.json").write_bytes(written)
    assert "holds no release of campaign demo" in refusal(campaign, tmp_path)
    assert contents(tmp_path) == {"manifest.json": written}


def test_the_release_of_another_campaign_is_left_alone(campaign: Campaign, tmp_path: Path) -> None:
    export(campaign, tmp_path / "release")
    before = contents(tmp_path / "release")
    other = make_campaign(name="other")
    assert "holds no release of campaign other" in refusal(other, tmp_path / "release")
    assert contents(tmp_path / "release") == before


def test_the_release_before_is_left_alone(campaign: Campaign, tmp_path: Path) -> None:
    release = export(campaign, tmp_path / "release").folder
    before = contents(release)
    Worker.objects.create(crowd="mturk", worker_id="somebody else")
    assert export(campaign, release).unchanged
    campaign.query_set.queries.filter(key="tea").update(text="Changed?")
    assert refusal(campaign, release) == (
        f"{release} holds release 1 of campaign demo, this is release 2, and a release never "
        "changes: the same command writes it to another folder (--out)."
    )
    assert contents(release) == before
    assert refusal(campaign, release) == (
        f"{release} holds release 1 of campaign demo, whose newest is release 2, and a release "
        "never changes: choose another folder by --out."
    )
    assert not export(campaign, tmp_path / "next").unchanged
    assert campaign.releases.count() == 2


def test_a_damaged_release_is_not_mended_in_silence(campaign: Campaign, tmp_path: Path) -> None:
    release = export(campaign, tmp_path / "release").folder
    (release / "dev.jsonl").write_bytes(b"")
    (release / "stats.json").unlink()
    (release / "trec" / "more.run").touch()
    assert refusal(campaign, release) == (
        f"{release} is not release 1 of campaign demo as it was made (differing in dev.jsonl, "
        "stats.json, trec/more.run): choose another folder by --out."
    )


def test_a_file_is_no_folder(campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "release").write_text("mine")
    out = tmp_path / "release"
    assert refusal(campaign, out) == f"{out} is a file: name a folder by --out."
    assert refusal(campaign, out / "deeper") == (
        f"The release cannot be written to {out / 'deeper'} (Not a directory): make room or "
        "choose another folder by --out."
    )


@pytest.fixture
def ordinary_user(tmp_path: Path) -> Iterator[None]:
    """Root may write everywhere: let somebody else try."""
    user = os.geteuid()
    tmp_path.chmod(0o555)
    if user == 0:
        os.seteuid(UNPRIVILEGED)
    yield
    os.seteuid(user)
    tmp_path.chmod(0o755)


def test_a_folder_that_may_not_be_written_is_refused(
    campaign: Campaign, tmp_path: Path, ordinary_user: None
) -> None:
    for out in (tmp_path / "release", tmp_path / "not" / "there"):
        with pytest.raises(UserError) as caught:
            export(campaign, out)
        assert str(caught.value) == (
            f"The release cannot be written to {out} (Permission denied): make room or choose "
            "another folder by --out."
        )


def test_a_disk_that_fills_up_leaves_nothing_half_written(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is copied into the folder comes to its end when half of it is there."""
    copied: list[object] = []
    fsync = os.fsync

    def full(descriptor: int) -> None:
        copied.append(descriptor)
        if len(copied) == len(FILES) + 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    export(campaign, tmp_path / "before")
    monkeypatch.setattr(os, "fsync", full)
    copied += range(len(FILES))
    out = tmp_path / "release"
    assert refusal(campaign, out) == (
        f"The release cannot be written to {out} (No space left on device): make room or choose "
        "another folder by --out."
    )


def test_a_data_folder_that_may_not_be_written_is_refused(
    campaign: Campaign, tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "builds").touch()
    assert refusal(campaign, tmp_path / "release") == (
        f"The release cannot be built in {tmp_path / 'builds'} (Not a directory): make room there, "
        "or let QUORUM_DATA name another folder."
    )


def test_two_exports_to_one_folder_do_not_mix(campaign: Campaign, tmp_path: Path) -> None:
    out = tmp_path / "release"
    with unfinished(out, purpose="export to") as work:
        (work / "trec").mkdir()
        (work / "trec" / "train.qrels").write_text("half")
        assert refusal(campaign, out) == (
            f"Another export to {out} is running: wait until it has ended."
        )
        assert contents(work) == {"trec/train.qrels": b"half"}
    assert set(contents(export(campaign, out).folder)) == FILES


def test_an_interrupted_export_leaves_nothing(campaign: Campaign, tmp_path: Path) -> None:
    def interrupt(increment: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(campaign, tmp_path / "release", progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_and_missing_parents_will_do(campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert not export(campaign, tmp_path / "empty").unchanged
    assert set(contents(tmp_path / "empty")) == FILES
    assert set(contents(export(campaign, tmp_path / "a" / "b").folder)) == FILES


def test_a_link_to_a_folder_is_followed(campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    export(campaign, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert set(contents(tmp_path / "disk")) == FILES
