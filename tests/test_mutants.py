"""The tables of `make mutants` fit the code, so that each mutant can show something."""

import pytest

from tests.mutants import ROOT, SUITES, Mutant, Suite, fault, mutants


@pytest.mark.parametrize(
    "mutant", [*mutants()], ids=lambda mutant: f"{mutant.source}: {mutant.rule}"
)
def test_a_mutant_edits_its_source_in_one_place(mutant: Mutant) -> None:
    assert fault(mutant) == ""


@pytest.mark.parametrize("suite", SUITES)
def test_what_a_suite_copies_exists(suite: Suite) -> None:
    assert [name for name in suite.copies if not (ROOT / name).exists()] == []
