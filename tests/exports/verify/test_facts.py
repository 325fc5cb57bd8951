"""Facts that contradict each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exports.layout.files import (
    CAMPAIGN,
    MANIFEST,
    RELEASE,
)
from exports.verify.verify import verify
from tests.exports.support.built_releases import finished, sealed
from tests.exports.support.extracts import random_extract
from tests.exports.verify.tampering import (
    change_object,
    found,
)


@pytest.mark.parametrize(
    ("name", "change", "wanted"),
    [
        (CAMPAIGN, lambda facts: facts["policy"].update(max_votes=5), "policy_sha256"),
        (CAMPAIGN, lambda facts: facts["policy"].update(max_votes=0), "policy: max_votes must be"),
        (CAMPAIGN, lambda facts: facts["triplets"].update(open=3), "open 3, by the other files 0"),
        (CAMPAIGN, lambda facts: facts.update(cost_cents=1), "cost_cents 1, by the assignments"),
        (CAMPAIGN, lambda facts: facts["queries"].update(total=99), "queries 99, by the other"),
        (CAMPAIGN, lambda facts: facts["instructions"][0].update(sha256="0"), "sha256 of instr"),
        (CAMPAIGN, lambda facts: facts.pop("seeds"), "seeds is missing"),
        (CAMPAIGN, lambda facts: facts["triplets"].update(open=3), "do not sum to triplets"),
        (
            CAMPAIGN,
            lambda facts: facts.update(excluded_workers=2 * facts["excluded_workers"]),
            "excluded_workers names somebody twice",
        ),
        (
            CAMPAIGN,
            lambda facts: facts["rejection_reasons"].update(unanswered=1),
            "rejection_reasons: 2 failed, by the other files 1",
        ),
        (
            CAMPAIGN,
            lambda facts: facts["rejection_reasons"].update(manual=1),
            "rejection_reasons: 1 rejected manually, by the other files 0",
        ),
        (
            CAMPAIGN,
            lambda facts: facts["rejection_reasons"].update(missed=2),
            "rejection_reasons: 2 missed a control, by the other files 1",
        ),
        (CAMPAIGN, lambda facts: facts["corpus"].update(name="tea"), "README.md"),
        (CAMPAIGN, lambda facts: facts["corpus"].update(sources=[""]), "corpus.sources 1 must be"),
        (CAMPAIGN, lambda facts: facts["corpus"].pop("name"), "corpus.name is missing"),
        (RELEASE, lambda release: release.update(number=2), "number 2, but the one before it is"),
        (RELEASE, lambda release: release.update(campaign="other"), "campaign is not that of"),
        (RELEASE, lambda release: release["options"].update(judgments=False), "options.judgments"),
        (RELEASE, lambda release: release.update(number="1"), "number must be a whole number"),
        (MANIFEST, lambda manifest: manifest.update(number=7), "number is not that of"),
    ],
)
def test_facts_that_contradict_each_other_are_named(
    name: str, change: Callable[[dict[str, Any]], object], wanted: str, release: Path
) -> None:
    change_object(release / name, change)
    assert wanted in found(release)


def test_a_release_from_before_corpora_is_as_good(tmp_path: Path) -> None:
    extract = random_extract(5, queries=18)
    del extract.campaign["corpus"]
    assert verify(finished(tmp_path / "demo-1", extract)).differences == []


def test_instructions_that_the_campaign_does_not_name_are_named(release: Path) -> None:
    (release / "instructions" / "other.md").write_text("Say yes.\n")
    sealed(release)
    assert f"instructions/other.md: {CAMPAIGN} does not name" in found(release)
