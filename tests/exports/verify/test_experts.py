"""What experts' labels do to a release: figures beside the labels, and nothing else."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Campaign, ExpertLabel, Triplet
from exports.building.export import export
from tests.exports.support.campaigns import VERDICTS, make_campaign
from tests.exports.support.contents import contents, document

pytestmark = pytest.mark.django_db

# (query, rank): tea's second is unresolved; moon's third and all of rain's have the label 0.
UNRESOLVED, MOON_NO, MOON_YES, RAIN_NO = ("tea", 2), ("moon", 3), ("moon", 1), ("rain", 1)
LABELS = (
    (MOON_NO, "ada", 1, "import"),
    (MOON_YES, "ada", 1, "import"),
    (MOON_YES, "bob", 1, "sample"),
    (RAIN_NO, "bob", 0, "sample"),
)


def say(campaign: Campaign, labels: Iterable[tuple[tuple[str, int], str, int, str]]) -> None:
    for (key, rank), expert, label, source in labels:
        triplet = Triplet.objects.get(
            campaign=campaign, candidate__query__key=key, candidate__rank=rank
        )
        given = {"label": label, "source": source, "adjudicated": source == "adjudication"}
        ExpertLabel.objects.create(triplet=triplet, expert=expert, **given)


def campaign_figures(campaign: Campaign, out: Path) -> dict[str, Any]:
    stats: dict[str, Any] = document(export(campaign, out).folder, "stats.json")
    figures: dict[str, Any] = stats["campaign"]
    return figures


def test_the_label_error_is_over_imported_and_sampled_labels(tmp_path: Path) -> None:
    campaign = make_campaign()
    say(campaign, LABELS)
    found = campaign_figures(campaign, tmp_path / "release")
    assert found["expert"] == {
        "labels": 4,
        "triplets": 3,
        "unresolved_adjudicated": 0.0,
        "agreement": 1.0,
    }
    # 1 of 3: (2 + 2.8415 - 1.96 * sqrt(3.8415 - 2 - 1/3 + 4)) / 13.683, and the upper end of centre
    # (1/3 + 3.8415/6) / 2.2805 = 0.4269, half 1.96 / 2.2805 * sqrt(2/27 + 3.8415/36)
    assert found["label_error"] == 0.3333
    assert found["label_error_interval"] == [0.0177, 0.7923]
    assert (found["label_error_triplets"], found["label_error_reason"]) == (3, None)
    assert "no random sample" in found["label_error_basis"]


def test_adjudicated_labels_make_no_label_error(tmp_path: Path) -> None:
    campaign = make_campaign()
    say(campaign, [(UNRESOLVED, "ada", 1, "adjudication"), (MOON_NO, "ada", 1, "adjudication")])
    found = campaign_figures(campaign, tmp_path / "release")
    assert found["expert"]["unresolved_adjudicated"] == 1.0
    assert (found["label_error"], found["label_error_reason"]) == (None, "no gold")


def test_gold_of_an_unresolved_triplet_makes_no_label_error(tmp_path: Path) -> None:
    campaign = make_campaign()
    say(campaign, [(UNRESOLVED, "ada", 1, "import")])
    found = campaign_figures(campaign, tmp_path / "release")
    assert (found["label_error"], found["label_error_triplets"]) == (None, 0)


def test_a_tie_among_experts_is_left_out_of_the_label_error(tmp_path: Path) -> None:
    campaign = make_campaign()
    say(campaign, [*LABELS, (MOON_NO, "bob", 0, "sample")])
    found = campaign_figures(campaign, tmp_path / "release")
    assert (found["label_error"], found["label_error_triplets"]) == (0.0, 2)
    assert found["expert"]["agreement"] == 0.5


def test_an_adjudicated_label_has_no_say_against_a_sampled_one(tmp_path: Path) -> None:
    campaign = make_campaign()
    say(campaign, [(MOON_NO, "ada", 0, "sample"), (MOON_NO, "bob", 1, "adjudication")])
    found = campaign_figures(campaign, tmp_path / "release")
    assert (found["label_error"], found["label_error_triplets"]) == (0.0, 1)


def test_an_unresolved_triplet_stays_out_whatever_experts_say(tmp_path: Path) -> None:
    campaign = make_campaign()
    before = contents(export(campaign, tmp_path / "before").folder)
    say(campaign, [(UNRESOLVED, name, 1, "adjudication") for name in ("ada", "bob", "eve")])
    after = contents(export(campaign, tmp_path / "after").folder)
    differing = {name for name in before if before[name] != after[name]}
    assert {"gold.jsonl", "stats.json"} <= differing
    assert [name for name in differing if "train" in name or "dev" in name or "test" in name] == []


def test_the_order_in_which_experts_spoke_leaves_no_trace(tmp_path: Path) -> None:
    campaign = make_campaign(VERDICTS)
    say(campaign, LABELS)
    export(campaign, tmp_path / "release")
    ExpertLabel.objects.all().delete()
    say(campaign, reversed(LABELS))
    assert export(campaign, tmp_path / "release").unchanged


def test_another_campaigns_experts_are_not_mixed_in(tmp_path: Path) -> None:
    campaign = make_campaign()
    other = make_campaign({"moon": ["ada+ bob+"] * 3}, name="other")
    say(other, [(MOON_YES, "ada", 0, "import")])
    found = campaign_figures(campaign, tmp_path / "release")
    assert (found["expert"]["labels"], found["label_error"]) == (0, None)
