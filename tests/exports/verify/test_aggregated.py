"""A release whose labels an aggregator made: made again of its votes and controls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.db.models import F

from annotation.analytics.quality.expert_agreement import expert_figures
from annotation.models import Aggregation, Campaign, ExpertLabel, Posterior
from annotation.pipeline.labelling.label import write_labels
from annotation.pipeline.recompute import fit_to_all
from annotation.protocol.aggregation import calibration, fit, rank_prior
from annotation.protocol.aggregation.calibration import LogisticMap
from annotation.protocol.aggregation.choice import Choice
from exports.building.export import export
from exports.building.options import Options
from exports.layout.manifest import ERRORS
from exports.verify.verify import verify
from retrieval.ranking.records import CandidateRecord, read
from tests.exports.support.built_releases import sealed
from tests.exports.support.campaigns import MANY, make_campaign
from tests.exports.support.contents import document
from tests.exports.verify.tampering import change_lines, change_object, found

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """With an audit, which 20 labels are enough for here."""
    made = Choice(
        "two coins", {"controls": 20, "adjudicated": 0}, {"two coins": 0.1}, LogisticMap()
    )
    monkeypatch.setattr(fit, "choose", lambda _, adjudicated: made)
    monkeypatch.setattr(calibration, "LEAST_SAMPLED", 20)
    monkeypatch.setattr(calibration, "MOST_ERROR", 0.5)
    campaign = make_campaign(MANY, aggregation="best", train=9, dev=3, test=3)
    for triplet in campaign.triplets.order_by("pk")[:20]:
        label = int(2 * triplet.positive_votes >= triplet.votes)
        ExpertLabel.objects.create(triplet=triplet, expert="gil", label=label, source="sample")
    return campaign


@pytest.fixture
def release(campaign: Campaign, tmp_path: Path) -> Path:
    export(campaign, tmp_path / "release")
    return tmp_path / "release"


def candidates(folder: Path) -> list[CandidateRecord]:
    paths = [folder / f"{split}.jsonl" for split in ("train", "dev", "test")]
    return [each for path in paths for query in read(path) for each in query.candidates]


def change_first(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    change_lines(folder / "train.jsonl", lambda rows: change(rows[0]["candidates"][0]))
    sealed(folder)


def test_each_label_has_its_chance_its_source_and_its_majority(
    release: Path, campaign: Campaign
) -> None:
    report = verify(release)
    assert report.differences == []
    rows = candidates(release)
    claims = Aggregation.objects.get(campaign=campaign).claims
    shown = {claims.shown(one.log_odds) for one in Posterior.objects.all()}
    assert {one.posterior for one in rows} <= shown
    assert None not in shown
    assert {one.label_source for one in rows} == {"aggregator"}
    undecided = [one for one in rows if one.yes == one.no]
    assert len(rows) == 45  # with the one that no majority decides
    assert [one.majority for one in undecided] == [None]
    assert all(one.majority == int(one.yes > one.no) for one in rows if one.yes != one.no)
    table = pq.read_table(release / "parquet" / "train.parquet")
    assert table.column("posterior").null_count == 0
    assert "majority" in table.column_names
    facts = document(release, "campaign.json")
    (made,) = facts["aggregation"]
    assert (made["aggregator"], made["sampled"]) == ("two coins", 20)
    stats = document(release, "stats.json")
    assert stats["label_sources"] == {"majority": 0, "expert": 0, "import": 0, "aggregator": 45}
    assert stats["campaign"]["unresolved"] == 0
    assert "two coins" in (release / "README.md").read_text()


def test_without_the_judgments_labels_are_taken_as_stated(
    campaign: Campaign, tmp_path: Path
) -> None:
    export(campaign, tmp_path / "release", options=Options(judgments=False))
    assert verify(tmp_path / "release").differences == []


def test_a_label_turned_over_is_named(release: Path) -> None:
    change_first(release, lambda one: one.update(label=1 - one["label"]))
    assert "that of the aggregator is" in found(release)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("posterior", 0.5, "posterior 0.5, by the votes and controls 0."),
        ("posterior", None, "posterior None, by the votes and controls 0."),
        ("majority", None, "majority None, that of its votes is "),
    ],
)
def test_another_chance_or_majority_is_named(
    release: Path, field: str, value: float | None, words: str
) -> None:
    change_first(release, lambda one: one["aggregation"].update({field: value}))
    assert words in found(release)


def test_another_aggregator_is_named_by_the_chances(release: Path) -> None:
    def other(facts: dict[str, Any]) -> None:
        facts["aggregation"][0]["aggregator"] = "one coin"

    change_object(release / "campaign.json", other)
    sealed(release)
    assert "by the votes and controls" in found(release)


def test_what_an_expert_overruled_is_still_wrong_to_the_audit(
    campaign: Campaign, tmp_path: Path
) -> None:
    """The majority has no label there, and the aggregator's is not the expert's."""
    campaign.policy_data |= {"adjudication": "decide"}
    campaign.save()
    fit_to_all(campaign)
    tied = campaign.triplets.get(votes=2 * F("positive_votes"))
    right = 1 - tied.label
    ExpertLabel.objects.filter(triplet=tied).delete()
    ExpertLabel.objects.create(
        triplet=tied,
        expert="gil",
        label=right,
        source="sample",
        adjudicated=True,
    )
    write_labels(campaign)
    tied.refresh_from_db()
    assert (tied.label, tied.label_source) == (right, "expert")
    error = expert_figures(campaign).label_error
    assert error is not None
    assert error.wrong == 1
    export(campaign, tmp_path / "release")
    assert verify(tmp_path / "release").differences == []
    stated = document(tmp_path / "release", "stats.json")["campaign"]
    assert stated["label_error"] == pytest.approx(error.share, abs=1e-4)
    assert stated["label_error_triplets"] == 21
    [row] = [one for one in candidates(tmp_path / "release") if one.label_source == "expert"]
    assert row.overruled == 1 - right

    def turn(rows: list[dict[str, Any]]) -> None:
        for query in rows:
            for one in query["candidates"]:
                if one["label_source"] == "expert":
                    one["aggregation"]["overruled"] = right

    for split in ("train", "dev", "test"):
        change_lines(tmp_path / "release" / f"{split}.jsonl", turn)
    sealed(tmp_path / "release")
    assert f"overruled {right}, the aggregator says {1 - right}" in found(tmp_path / "release")


def test_ranks_that_have_a_say_are_told_and_found_again(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_prior, "STANDARD_ERRORS", 0.0)
    campaign.policy_data |= {"rank_prior": True}
    campaign.save()
    release = tmp_path / "release"
    export(campaign, release)
    assert verify(release).differences == []
    (stated,) = document(release, "campaign.json")["aggregation"]
    stored = Aggregation.objects.get(campaign=campaign)
    assert (stated["prior"], stated["rank_slope"]) == (stored.prior, stored.rank_slope)
    card = " ".join((release / "README.md").read_text().split())
    fitted = f"{stored.prior:.3f}, and {stored.rank_slope:.3f} times the logarithm of its rank"
    assert f"are {fitted}; both numbers are fitted to the votes." in card
    assert "Labels lean to the retriever that chose the candidates" in card
    assert "comparing that retriever, or one much like it, with others on this set favours" in card
    assert "is 1 by the votes and the rank; empty" in (release / "croissant.json").read_text()

    def found_with(stated: dict[str, Any]) -> str:
        change_object(release / "campaign.json", lambda facts: facts.update(aggregation=[stated]))
        sealed(release)
        return found(release)

    for name in ("prior", "rank_slope"):
        turned = stated[name] + 0.5
        words = f"campaign.json: {name} {turned}, by the votes, controls and experts' labels"
        assert words in found_with({**stated, name: turned})
    for names in (["known"], ERRORS):
        less = {name: value for name, value in stated.items() if name not in names}
        assert f"{', '.join(('known', *ERRORS))} are given where rank_prior is true" in (
            found_with(less)
        )
    del stated["prior"]
    words = "prior and rank_slope are given where, and only where, rank_prior is true"
    assert words in found_with(stated)


def test_adaptive_campaigns_are_counted_by_what_is_sure(campaign: Campaign, tmp_path: Path) -> None:
    campaign.policy_data |= {"wanted_confidence": 0.6, "annotators": 1}
    campaign.save()
    export(campaign, tmp_path / "release", options=Options(partial=True))
    assert verify(tmp_path / "release").differences == []
