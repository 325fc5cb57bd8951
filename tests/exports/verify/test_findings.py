from __future__ import annotations

import pytest

from exports.verify.findings import NAMED, SHOWN, Findings, quote


def test_the_first_of_a_kind_are_named_and_the_rest_counted() -> None:
    findings = Findings()
    for number in range(NAMED + 1230):
        findings.differ("labels", f"label {number}")
    findings.differ("figures", "a figure")
    named = list(findings.differences())
    assert named[:NAMED] == [f"label {number}" for number in range(NAMED)]
    assert named[NAMED:] == ["labels: 1,230 more like these", "a figure"]


def test_a_text_as_long_as_a_file_is_cut() -> None:
    assert len(quote("x" * 10_000)) < SHOWN + 10


def test_a_mistake_that_no_damage_makes_is_not_swallowed() -> None:
    with pytest.raises(AssertionError), Findings().reading("x"):
        raise AssertionError


def test_a_key_that_is_not_there_is_said_to_be_missing() -> None:
    findings = Findings()
    with findings.reading("card and plots"):
        {}["licence"]
    assert list(findings.differences()) == ["card and plots: 'licence' is missing"]
    assert findings.unreadable == {"card and plots"}
