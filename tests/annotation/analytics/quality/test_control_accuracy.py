"""The worst controls of many, of which most are answered alike."""

import random

import pytest

from annotation.analytics.quality.control_accuracy import MOST, control_figures
from annotation.models import Control, ControlTally
from annotation.protocol.screening.control_accuracy import ControlRate, worst_first
from tests.annotation.support.hits import make_campaign

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("most", [1, 7, 30, 100])
def test_the_worst_are_those_of_all_in_order(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign, draw = make_campaign(), random.Random(most)
    rates: dict[str, list[ControlRate]] = {kind.value: [] for kind in MOST}
    for number in range(120):
        kind = draw.choice(list(MOST))
        of = {"campaign": campaign, "drafted": True, "key": f"k{number}"}
        control = Control.objects.create(kind=kind, **of)
        answered = draw.choice([1, 2, 2, 2, 3, 20])
        right = max(0, answered - draw.choice([0, 0, 0, 1, 2]))
        yes = right if kind == Control.Kind.POSITIVE else answered - right
        tally = {"answered": answered, "yes": yes, "workers": answered}
        ControlTally.objects.create(campaign=campaign, control=control, **tally)
        rates[kind.value].append(ControlRate(control.pk, answered, right, answered))
    monkeypatch.setattr(f"{control_figures.__module__}.MOST", dict.fromkeys(MOST, most))
    assert control_figures(campaign) == {
        kind: {
            "controls": len(all_),
            "answered": sum(rate.answered for rate in all_),
            "right": sum(rate.right for rate in all_),
            "worst": [list(rate) for rate in worst_first(all_)[:most]],
        }
        for kind, all_ in rates.items()
    }
