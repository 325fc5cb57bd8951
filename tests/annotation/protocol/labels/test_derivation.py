"""What makes a triplet's label: experts, votes, an import; each case by hand."""

import pytest

from annotation.protocol.labels.derivation import Evidence, derive_label, label_before_experts
from annotation.protocol.policy.policy import Policy

DECIDE, MEASURE = Policy(adjudication="decide"), Policy()


@pytest.mark.parametrize(
    ("evidence", "decided", "measured"),
    [
        (Evidence(2, 2), (1, "majority"), (1, "majority")),
        (Evidence(2, 2, None, 0, 1), (0, "expert"), (1, "majority")),
        (Evidence(2, 1, None, 1, 0), (1, "expert"), (None, None)),
        (Evidence(6, 3, None, 0, 2), (0, "expert"), (None, None)),
        (Evidence(0, 0, None, 1, 0), (1, "expert"), (None, None)),
        (Evidence(3, 1, None, 2, 1), (1, "expert"), (0, "majority")),
        (Evidence(3, 2, None, 1, 2), (0, "expert"), (1, "majority")),
        (Evidence(3, 1, None, 1, 1), (0, "majority"), (0, "majority")),
        (Evidence(2, 1, None, 1, 1), (None, None), (None, None)),
        (Evidence(0, 0, 1), (1, "import"), (1, "import")),
        (Evidence(0, 0, 1, 0, 1), (0, "expert"), (1, "import")),
        (Evidence(2, 0, 1), (0, "majority"), (0, "majority")),
    ],
)
def test_adjudication_decides_before_votes_and_votes_before_an_import(
    evidence: Evidence, decided: tuple[object, object], measured: tuple[object, object]
) -> None:
    for policy, expected in ((DECIDE, decided), (MEASURE, measured)):
        label = derive_label(evidence, policy)
        assert (label.value, label.source) == expected
        assert (label.status == "labelled") == (expected[0] is not None)


@pytest.mark.parametrize(
    ("evidence", "status", "wanted"),
    [
        (Evidence(1, 1, cannot_judge=1), "open", 1),
        (Evidence(0, 0, cannot_judge=1), "open", 2),
        (Evidence(0, 0, cannot_judge=2), "unresolved", 0),
        (Evidence(2, 1, cannot_judge=2), "unresolved", 0),
        (Evidence(2, 2, cannot_judge=2), "labelled", 0),
        (Evidence(1, 1, 1, cannot_judge=2), "labelled", 0),
        (Evidence(0, 0, None, 1, 0, cannot_judge=2), "labelled", 0),
    ],
)
def test_enough_who_cannot_judge_end_the_asking_where_nothing_makes_a_label(
    evidence: Evidence, status: str, wanted: int
) -> None:
    policy = Policy(adjudication="decide", cannot_judge_limit=2)
    label = derive_label(evidence, policy)
    assert (label.status, label.wanted) == (status, wanted)
    if evidence.imported is None:
        without = derive_label(evidence._replace(cannot_judge=0), DECIDE)
        assert derive_label(evidence, DECIDE) == without


BEST = Policy(aggregation="best")
SURE = Policy(aggregation="best", wanted_confidence=0.9, annotators=1, cannot_judge_limit=2)


@pytest.mark.parametrize(
    ("evidence", "policy", "status", "label", "source"),
    [
        # Votes are asked for as for a majority; then the label is what the aggregator says.
        (Evidence(2, 2, said=0), BEST, "labelled", 0, "aggregator"),
        (Evidence(2, 2), BEST, "labelled", 1, "majority"),  # where it is the majority
        (Evidence(2, 2, said=0), MEASURE, "labelled", 1, "majority"),
        (Evidence(1, 1, said=0), BEST, "open", None, None),
        (Evidence(2, 1, said=0), BEST, "open", None, None),
        (Evidence(6, 3, said=0), BEST, "labelled", 0, "aggregator"),
        (Evidence(6, 3), BEST, "unresolved", None, None),
        # Where confidence ends the asking.
        (Evidence(0, 0), SURE, "open", None, None),
        (Evidence(1, 1, said=1), SURE, "open", None, None),
        (Evidence(1, 1, said=1, is_sure=True), SURE, "labelled", 1, "aggregator"),
        (Evidence(1, 1, is_sure=True), SURE, "labelled", 1, "majority"),
        (Evidence(2, 1, said=0, is_sure=True), SURE, "labelled", 0, "aggregator"),
        (Evidence(5, 4, said=1), SURE, "labelled", 1, "aggregator"),
        (Evidence(2, 1, said=1, cannot_judge=2), SURE, "unresolved", None, None),
        (Evidence(1, 1, said=1, is_sure=True, cannot_judge=2), SURE, "labelled", 1, "aggregator"),
    ],
)
def test_an_aggregator_makes_the_label_and_may_end_the_asking(
    evidence: Evidence, policy: Policy, status: str, label: int | None, source: str | None
) -> None:
    derived = derive_label(evidence, policy)
    assert (derived.status, derived.value, derived.source) == (status, label, source)
    assert (derived.wanted > 0) == (status == "open")


def test_what_experts_decided_wants_no_more_votes() -> None:
    assert derive_label(Evidence(2, 1, None, 1, 0), DECIDE).wanted == 0
    assert derive_label(Evidence(2, 1, None, 1, 1), DECIDE).wanted == 1


@pytest.mark.parametrize(
    ("source", "votes", "positive", "expected"),
    [("majority", 2, 2, 1), ("import", 0, 0, 1), ("expert", 3, 1, 0), ("expert", 2, 1, None)],
)
def test_the_label_error_is_about_the_label_that_an_expert_overruled(
    source: str, votes: int, positive: int, expected: int | None
) -> None:
    assert label_before_experts(1, source, votes, positive, DECIDE) == expected
