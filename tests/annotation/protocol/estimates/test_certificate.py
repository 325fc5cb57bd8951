"""Certificates of labels, by what experts decided and judged at random."""

import random
from collections import Counter
from math import log

import pytest

from annotation.protocol.estimates.certificate import certify, evidence, ways
from annotation.protocol.estimates.label_audit import Audit, Pattern

CLEAR, SPLIT = Pattern(1, 2, 0), Pattern(1, 2, 1)


def audit(clear: tuple[int, int, int], split: tuple[int, int, int], *, decided: int = 0) -> Audit:
    """`judged` of the `labels`, of which `wrong` are wrong; `decided` of the split ones."""
    labels, judged, wrong = (
        Counter({CLEAR: one, SPLIT: two}) for one, two in zip(clear, split, strict=True)
    )
    return Audit(labels, judged, wrong, Counter({SPLIT: decided}))


def test_evidence_is_how_much_likelier_fewer_wrong_ones_make_what_was_seen() -> None:
    # None wrong of 1: the mean of (1 - share) over shares below a half, against a half.
    assert evidence(1, 0, 0.5) == pytest.approx(0.75 / 0.5, rel=1e-4)
    assert evidence(0, 0, 0.05) == 1
    assert evidence(40, 40, 0.05) < 0.03
    assert evidence(100_000, 0, 0.05) == pytest.approx(1e6)  # where it ends


def test_some_ninety_right_ones_certify_five_percent() -> None:
    """Fifty-nine would do for somebody who looks once."""
    assert [evidence(judged, 0, 0.05) >= 20 for judged in (59, 75, 95)] == [False, False, True]
    assert log(1 - 0.95) / log(1 - 0.05) == pytest.approx(58.4, abs=0.1)


def test_of_those_who_have_as_many_wrong_as_the_bound_few_ever_get_it() -> None:
    draw, got = random.Random(3), 0
    for _ in range(200):
        wrong = 0
        for judged in range(1, 301):
            wrong += draw.random() < 0.1
            if judged % 10 == 0 and evidence(judged, wrong, 0.1) >= 20:
                got += 1
                break
    assert got <= 10


def test_what_experts_decided_is_right_and_the_rest_may_have_more_wrong() -> None:
    before = certify(audit((800, 160, 2), (200, 40, 10)), 0.05)
    after = certify(audit((800, 160, 2), (200, 40, 10), decided=200), 0.05)
    assert (before.rest, before.judged, before.wrong, before.holds) == (1000, 200, 12, False)
    assert (after.labels, after.rest, after.judged, after.wrong) == (1000, 800, 160, 2)
    assert after.evidence == pytest.approx(evidence(160, 2, 0.0625))
    assert after.holds


def test_wrong_ones_that_experts_decide_one_by_one_still_count() -> None:
    """Those that were judged would be the first to be put right."""
    seen = (800, 160, 2), (200, 40, 10)
    assert certify(audit(*seen, decided=199), 0.05) == certify(audit(*seen), 0.05)


def test_judged_oftener_where_votes_differ_it_is_no_more_evidence() -> None:
    even, oftener = audit((800, 80, 0), (200, 20, 0)), audit((800, 80, 0), (200, 200, 0))
    assert certify(even, 0.05).evidence == pytest.approx(certify(oftener, 0.05).evidence)


def test_without_a_judged_one_of_each_sort_there_is_no_certificate() -> None:
    assert not certify(audit((800, 700, 0), (200, 0, 0)), 0.05).holds
    assert not certify(Audit(), 0.05).holds


def test_labels_that_experts_decided_alone_are_right() -> None:
    all_decided = Audit(Counter(), Counter(), Counter(), Counter(), alone=3)
    assert certify(all_decided, 0.01).holds


def test_ways_are_to_judge_more_or_to_decide_the_least_sure_first() -> None:
    asked = audit((8000, 40, 0), (2000, 10, 2))
    first, second = list(ways(asked, 0.06))
    assert (first.decide, second.decide) == (0, 2000)
    assert first.judge > 100 > second.judge > 0


def test_there_is_no_way_where_too_many_are_wrong() -> None:
    """But that experts decide all."""
    hopeless = audit((800, 80, 40), (200, 20, 10))
    assert list(ways(hopeless, 0.05)) == []
