"""The tables of `make mutants` fit the code, so that each mutant can show something."""

import pytest

from tests.house.mutants import Mutant, fault, mutants


@pytest.mark.parametrize(
    "mutant", [*mutants()], ids=lambda mutant: f"{mutant.source}: {mutant.rule}"
)
def test_a_mutant_edits_its_source_in_one_place(mutant: Mutant) -> None:
    assert fault(mutant) == ""
