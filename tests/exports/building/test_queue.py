"""Releases are numbered, tell what changed, are asked for one at a time, and never change."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.db import DatabaseError, connection, transaction

from annotation.models import Campaign, Event, Judgment, Triplet
from annotation.pipeline.labelling.label import write_labels
from core.errors import UserError
from exports.building.options import Options
from exports.building.queue import release_now
from exports.building.requests import thousandths
from exports.building.stages import SHARES
from exports.models import Build, Release, ReleaseFile
from tests.exports.building.leftovers import prefixes
from tests.exports.support.builds import ask, build_queued, built, change_a_label, stored
from tests.exports.support.campaigns import make_campaign
from tests.exports.support.contents import FILES
from tests.support.truncating import truncate

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]

TOPICS = ("bread", "candle", "garden", "moon", "piano", "rocket")


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


def test_one_build_of_a_campaign_is_asked_for_at_a_time(campaign: Campaign) -> None:
    ask(campaign)
    with pytest.raises(UserError) as caught:
        ask(campaign, split="random")
    assert str(caught.value) == (
        "A release of campaign demo is being built already: wait until that has ended."
    )
    ask(make_campaign({}, name="other"))
    assert Build.objects.count() == 2


def test_a_build_that_was_asked_for_is_built(campaign: Campaign, releases: Path) -> None:
    build = ask(campaign)
    done = build_queued(build)
    assert done is not None
    release = done.release
    assert release is not None
    assert (done.state, done.unchanged, thousandths(done)) == ("done", False, 1000)
    assert (release.number, release.created_by) == (1, "ada")
    assert build_queued(build) is None
    (event,) = Event.objects.filter(campaign=campaign)
    assert (event.type, event.data["release"]) == ("release.ready", 1)
    assert event.data["manifest_sha256"] == release.manifest_sha256
    assert [one.account.get_username() for one in event.deliveries.all()] == ["ada"]


def test_a_build_cut_off_after_its_release_was_stored_names_that_release(
    campaign: Campaign,
) -> None:
    build = ask(campaign)
    build_queued(build)
    Build.objects.update(state="running", beat_at=None, ended_at=None)
    done = build_queued(build)
    assert done is not None
    assert (done.state, done.release, done.unchanged) == ("done", Release.objects.get(), False)


def test_a_releases_rows_are_what_is_stored_the_archive_among_them(
    campaign: Campaign, releases: Path
) -> None:
    release = built(campaign).release
    files = stored(release, releases)
    assert set(files) == FILES | {"demo-1.tar.zst"}
    assert {file.path: (file.bytes, file.sha256) for file in release.files.all()} == {
        path: (len(content), hashlib.sha256(content).hexdigest()) for path, content in files.items()
    }
    assert release.manifest_sha256 == hashlib.sha256(files["manifest.json"]).hexdigest()
    assert release.stats == json.loads(files["stats.json"])
    assert release.changes == json.loads(files["changes.json"])


def test_what_cannot_be_released_fails_with_the_sentence(campaign: Campaign) -> None:
    Triplet.objects.filter(campaign=campaign, label=1).update(label=0)
    build = ask(campaign)
    done = build_queued(build)
    assert done is not None
    assert done.state == "failed"
    with pytest.raises(UserError) as caught:
        built(campaign)
    assert done.error == str(caught.value)
    ask(campaign)


def test_progress_counts_thousandths(campaign: Campaign) -> None:
    done: list[int] = []
    release_now(campaign, options=Options(), progress=done.append)
    assert sum(done) == sum(SHARES.values()) == 1000
    assert len(done) > len(SHARES)


def test_nothing_changed_is_the_release_of_before(campaign: Campaign, releases: Path) -> None:
    first, again = built(campaign), built(campaign)
    assert (first.unchanged, again.unchanged) == (False, True)
    assert first.release == again.release
    assert prefixes(campaign) == [first.release.prefix]
    last = Build.objects.latest("pk")
    assert (last.state, last.release, last.unchanged) == ("done", first.release, True)


def test_a_changed_label_makes_the_next_release(campaign: Campaign, releases: Path) -> None:
    first = built(campaign).release
    before = stored(first, releases)
    changed = change_a_label(campaign)
    second = built(campaign).release
    after = stored(second, releases)
    assert second.number == 2
    assert second.changes["labels"] == {"added": 0, "changed": 1, "withdrawn": 0}
    assert [json.loads(line) for line in after["changes.jsonl"].splitlines()] == [
        {
            "query_id": "moon",
            "candidate_id": changed.candidate.pair.pair_key[:20],
            "change": "changed",
            "before": 1,
            "after": 0,
            "split_before": json.loads(after["changes.jsonl"])["split_before"],
            "split_after": json.loads(after["changes.jsonl"])["split_before"],
        }
    ]
    assert json.loads(after["release.json"])["previous"] == {
        "number": 1,
        "manifest_sha256": hashlib.sha256(before["manifest.json"]).hexdigest(),
    }
    assert after["placements.jsonl"] == before["placements.jsonl"]
    assert stored(first, releases) == before


def test_a_query_that_comes_back_goes_where_it_was(campaign: Campaign) -> None:
    """Through a release that lacks it: places are remembered over all of them."""
    first = built(campaign).release
    in_test = {"moon", "rain"} & set(_split(first, "test"))
    (query,) = in_test
    of_query = Triplet.objects.filter(campaign=campaign, candidate__query__key=query)
    judgments = list(Judgment.objects.filter(triplet__in=of_query, triplet__candidate__rank=1))
    Judgment.objects.filter(pk__in=[each.pk for each in judgments]).delete()
    write_labels(campaign)
    second = built(campaign, partial=True).release
    assert query not in _split(second, "test")
    Judgment.objects.bulk_create(judgments)
    write_labels(campaign)
    third = built(campaign).release
    assert _split(third, "test") == _split(first, "test")


def _split(release: Release, split: str) -> list[str]:
    file = release.files.get(path=f"{split}.jsonl")
    with storages["releases"].open(f"{release.prefix}/{file.path}") as content:
        return [json.loads(line)["id"] for line in content]


def test_other_options_make_another_release(campaign: Campaign, releases: Path) -> None:
    first = built(campaign).release
    second = built(campaign, judgments=False).release
    assert (first.number, second.number) == (1, 2)
    assert second.options == {"partial": False, "split": "clusters", "judgments": False}
    assert set(stored(first, releases)) - set(stored(second, releases)) == {
        "judgments.parquet",
        "assignments.parquet",
        "controls.parquet",
        "demo-1.tar.zst",
    }


def test_partial_makes_no_difference_where_nothing_is_open(campaign: Campaign) -> None:
    first = built(campaign).release
    assert built(campaign, partial=True).release == first


def test_campaigns_are_numbered_each_for_itself(campaign: Campaign) -> None:
    other = make_campaign(name="other")
    assert [built(each).release.number for each in (campaign, other)] == [1, 1]


@pytest.mark.parametrize("model", [Release, ReleaseFile])
@pytest.mark.parametrize("change", ["update", "save", "delete", "delete one"])
def test_the_database_itself_keeps_a_release_as_it_is(
    campaign: Campaign, model: Any, change: str
) -> None:
    built(campaign)
    row = model.objects.first()
    acts: dict[str, Callable[[], object]] = {
        "update": lambda: model.objects.update(id=1),
        "save": row.save,
        "delete": lambda: model.objects.all()._raw_delete("default"),
        "delete one": lambda: model.objects.filter(pk=row.pk)._raw_delete("default"),
    }
    before = list(model.objects.order_by("pk").values())
    with pytest.raises(DatabaseError, match="a release never changes"), transaction.atomic():
        acts[change]()
    assert list(model.objects.order_by("pk").values()) == before


@pytest.mark.parametrize("model", [Release, ReleaseFile])
@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite replaces rows")
def test_no_release_is_put_in_the_place_of_another(campaign: Campaign, model: Any) -> None:
    built(campaign)
    table = model._meta.db_table
    before = list(model.objects.order_by("pk").values())
    with (
        pytest.raises(DatabaseError, match="a release never changes"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"REPLACE INTO {table} SELECT * FROM {table}")
    assert list(model.objects.order_by("pk").values()) == before != []


@pytest.mark.parametrize("model", [Release, ReleaseFile])
@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL truncates")
def test_releases_are_never_emptied_at_once(campaign: Campaign, model: Any) -> None:
    built(campaign)
    before = list(model.objects.order_by("pk").values())
    with pytest.raises(DatabaseError, match="a release never changes"):
        truncate(model._meta.db_table)
    assert list(model.objects.order_by("pk").values()) == before != []


def test_the_splits_of_a_dataset_labelled_elsewhere_are_kept(releases: Path) -> None:
    campaign = make_campaign({name: ["ada+ bob+", "ada- bob-", "ada- bob-"] for name in TOPICS})
    wanted = dict(zip(TOPICS, ("test", "train", "dev", "test", "train", "test"), strict=True))
    for key, split in wanted.items():
        campaign.query_set.queries.filter(key=key).update(split=split)
    files = stored(built(campaign).release, releases)
    rows = map(json.loads, files["placements.jsonl"].splitlines())
    assert {row["id"]: row["split"] for row in rows} == wanted
