"""The release of the crowd's records is the one that was exported, byte for byte, or differs."""

from pathlib import Path

import pytest

from annotation.models import Assignment, Judgment, Triplet
from exports.building.export import export
from tests.chaos.replay import differing_files, replayed_release
from tests.chaos.scenes import Scene, of_mode

pytestmark = pytest.mark.django_db

OF_THE_CARD = {"README.md", "croissant.json"}


@of_mode("repack")
def test_both_releases_are_the_same(at_its_end: Scene, tmp_path: Path) -> None:
    live = export(at_its_end.campaign, tmp_path / "live").folder
    replayed = replayed_release(at_its_end.state, at_its_end.campaign, tmp_path / "replayed")
    assert (replayed / "trec" / "test.qrels").is_file()
    assert differing_files(live, replayed) == []


@of_mode("extend")
def test_what_the_live_database_says_of_votes_has_no_say(at_its_end: Scene, tmp_path: Path) -> None:
    live = export(at_its_end.campaign, tmp_path / "live").folder
    Judgment.objects.update(value=1)
    Assignment.objects.update(passed=False, failure="missed", status="rejected", account="released")
    Triplet.objects.update(status="open", label=None, votes=0, positive_votes=0)
    replayed = replayed_release(at_its_end.state, at_its_end.campaign, tmp_path / "replayed")
    assert differing_files(live, replayed) == []


@of_mode("extend")
def test_another_answer_at_the_crowd_makes_another_release(
    at_its_end: Scene, tmp_path: Path
) -> None:
    """The last work of all broke a tie: here the other way."""
    live = export(at_its_end.campaign, tmp_path / "live").folder
    (vote,) = Judgment.objects.filter(
        assignment=Assignment.objects.latest("submitted_at"),
        triplet__votes=3,
        triplet__positive_votes__in=[1, 2],
    )
    field = f"<QuestionIdentifier>item-{vote.item.key}</QuestionIdentifier><FreeText>"
    at_its_end.edit(
        f"UPDATE assignments SET answer = replace(answer, '{field}{vote.value}',"
        f" '{field}{1 - vote.value}')"
    )
    replayed = replayed_release(at_its_end.state, at_its_end.campaign, tmp_path / "replayed")
    differing = differing_files(live, replayed)
    assert {"judgments.parquet", "manifest.json", "stats.json"} < set(differing)
    assert {"train.jsonl", "dev.jsonl", "test.jsonl"} & set(differing)


@of_mode("extend")
def test_a_cent_more_at_the_crowd_makes_another_release(at_its_end: Scene, tmp_path: Path) -> None:
    live = export(at_its_end.campaign, tmp_path / "live").folder
    at_its_end.edit(
        "INSERT INTO money (at, kind, hit_id, available, on_hold, spent)"
        " SELECT 0, 'bonus_fee', hit_id, -1, 0, 1 FROM hits WHERE seq = 1"
    )
    replayed = replayed_release(at_its_end.state, at_its_end.campaign, tmp_path / "replayed")
    differing = set(differing_files(live, replayed))
    assert differing - OF_THE_CARD == {"campaign.json", "manifest.json", "stats.json"}


def test_folders_differ_in_what_only_one_has_and_in_every_byte(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, text in ((one, "a\n"), (other, "a")):
        (folder / "in").mkdir(parents=True)
        (folder / "same").write_text("same")
        (folder / "in" / "byte").write_text(text)
        (folder / f"only {folder.name}").touch()
    assert differing_files(one, other) == ["in/byte", "only one", "only other"]
    assert differing_files(one, one) == []
