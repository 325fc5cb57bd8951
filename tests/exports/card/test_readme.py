"""What the card says, read as a reader of Markdown sees it."""

from __future__ import annotations

import html
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from annotation.protocol.policy.crowds import CrowdKind
from annotation.protocol.policy.policy import Policy
from exports.card.plots import write_plots
from exports.card.readme import card
from exports.formats.loading_code import snippets
from exports.layout.files import CHANGES, STATS
from exports.layout.manifest import checksums_code
from retrieval.ranking.records import document
from tests.exports.card.figures import AGREEMENT, CAMPAIGN, COMPLETE, WORKERS, row
from tests.exports.card.releases import RELEASED, ready
from tests.exports.support.extracts import random_extract

STATISTICS = [
    "queries",
    "candidates",
    "positives",
    "negatives",
    "triplets",
    "answerable",
    "votes",
]
READER = MarkdownIt("commonmark", {"html": True}).enable("table")
OURS = re.compile(r'<picture><source media="[^"<>]*" srcset="[^"<>]*"><img [^<>]*></picture>')


def body(folder: Path) -> str:
    return card(folder).decode().split("---\n", 2)[2]


def read(folder: Path) -> str:
    """The card's words without their marks, on one line."""
    words = re.sub(r"<[^>]*>", " ", READER.render(body(folder)))
    return " ".join(html.unescape(words).split())


def rows(folder: Path, heading: str) -> list[list[str]]:
    """Of the first table below a heading."""
    section = body(folder).split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = READER.render(section).split("<table>")[1].split("</table>")[0]
    return [
        [html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", line)]
        for line in re.findall(r"<tr>.*?</tr>", table, flags=re.DOTALL)
    ]


def test_table_2_has_a_row_for_each_split_and_one_for_all(tmp_path: Path) -> None:
    table = rows(ready(tmp_path / "x"), "Contents")
    assert table[0] == ["", *STATISTICS]
    train = ["train", "11,711", "28.8 ± 0.4", "6.1 ± 5.3", "22.7 ± 5.4"]
    assert table[1] == [*train, "337,276", "75.0%", "2.20"]
    assert [line[0] for line in table[1:]] == ["train", "dev", "test", "all"]


def test_figures_of_an_empty_split_are_undefined(tmp_path: Path) -> None:
    splits = COMPLETE["splits"] | {"dev": row(0, 0, 0)}
    folder = ready(tmp_path / "x", empty=("dev",), stats={"splits": splits})
    nothing = ["dev", "0", *["undefined"] * 3, "0", "undefined", "undefined"]
    assert rows(folder, "Contents")[2] == nothing


def test_agreement_kappa_and_alpha_stand_with_their_intervals(tmp_path: Path) -> None:
    table = rows(ready(tmp_path / "x"), "Label quality")
    assert table == [
        ["", "value", "95% interval"],
        ["Agreement of the first two votes", "78.1%", "78.0% to 78.2%"],
        ["Cohen's kappa", "0.293", "0.290 to 0.297"],
        ["Krippendorff's alpha", "0.301", "0.298 to 0.305"],
        ["Label error", "6.1%", "3.4% to 9.9%"],
        ["Positives that are wrong", "11.2%", "6.1% to 19.7%"],
    ]


def test_a_certificate_says_what_it_promises_and_to_whom_it_trusts(tmp_path: Path) -> None:
    certificate = {
        "error": 0.05,
        "confidence": 0.95,
        "holds": True,
        "labels": 6_000,
        "decided_by_experts": 1_200,
        "judged_at_random": 180,
        "wrong": 3,
        "evidence": 21.4,
    }
    words = read(ready(tmp_path / "x", stats={"certificate": certificate}))
    assert (
        "It is certified that at most 5.0% of the 6,000 labels are wrong: experts decided 1,200 "
        "labels, and of 180 that experts judged at random 3 were wrong. Of all campaigns with more "
        "wrong labels, at most 5% get such a certificate, however often they ask for it. It takes "
        "what experts say for the truth." in words
    )


def test_an_undefined_kappa_is_called_so(tmp_path: Path) -> None:
    agreement = AGREEMENT | {"kappa": None, "kappa_interval": None}
    table = rows(ready(tmp_path / "x", stats={"agreement": agreement}), "Label quality")
    assert ["Cohen's kappa", "undefined", "undefined"] in table


def test_a_label_error_that_nobody_knows_is_explained(tmp_path: Path) -> None:
    unknown = {"label_error": None, "label_error_interval": None, "label_error_reason": "no gold"}
    folder = ready(tmp_path / "x", stats={"campaign": CAMPAIGN | unknown})
    assert "The label error is unknown: no gold." in read(folder)
    assert not any(line[0] == "Label error" for line in rows(folder, "Label quality"))


def test_workers_gini_robust_labels_and_controls_are_told(tmp_path: Path) -> None:
    words = read(ready(tmp_path / "x"))
    assert "came from 412 workers; 17 workers were excluded" in words
    assert "Gini coefficient of their votes is 0.711" in words
    assert "the busiest gave 8.1% of them" in words
    assert (
        "398,000 labels, 90.0% of those made by votes, stay the same whichever single "
        "worker's votes are removed; 2:0 counts as such, although one vote alone would make no "
        "label." in words
    )
    assert "1,900 of 201,000 positive ones, 1,400 of 201,000 negative ones" in words
    assert "No control is among the released triplets." in words


def test_a_control_inside_the_release_is_told(tmp_path: Path) -> None:
    controls = COMPLETE["controls"] | {"inside_release": 2}
    words = read(ready(tmp_path / "x", stats={"controls": controls}))
    assert "2 controls found among the released triplets." in words


def test_the_cost_is_told_in_dollars(tmp_path: Path) -> None:
    campaign = {"cost_cents": 3_764_505, "bonus_cents": 2_505}
    campaign |= {"triplets": {"triplets": 100, "labelled": 100_000, "open": 0, "unresolved": 0}}
    words = read(ready(tmp_path / "x", campaign=campaign))
    assert "USD 37,645.05: USD 37,620.00 for assignments" in words
    assert "USD 25.05 for bonuses. That is USD 0.376 per labelled triplet." in words


def test_at_prolific_the_cost_names_what_was_paid_for_no_work(tmp_path: Path) -> None:
    paid = {"crowd": "prolific", "cost_cents": 20_000, "bonus_cents": 100}
    words = read(ready(tmp_path / "x", campaign=paid))
    assert "1.00 for bonuses and visits that are paid for more tasks than were done." in words
    assert "own bill" not in words
    for cents, differs in ((100, "more"), (-100, "less")):
        billed = read(ready(tmp_path / differs, campaign=paid | {"billed_cents": cents}))
        assert "and USD 1.00 for bonuses and visits" in billed
        assert f"The crowd's own bill was USD 1.00 {differs}, which is included." in billed


@pytest.mark.parametrize(
    ("crowd", "said"),
    [
        (
            "mturk",
            "workers of a Mechanical Turk server, who chose the work there: Masters, at least 95% "
            "of their work and at least 100 assignments approved. The reward was USD 0.15 per "
            "HIT; the fee on top: 20%, 5% more for Masters, 20% more from 10 assignments a HIT. "
            "Work could be rejected (each HIT), and a rejection overturned for 30 days.",
        ),
        (
            "inhouse",
            "a team with accounts of their own, invited by name. Work could be rejected (each "
            "task), and a rejection overturned at any time.",
        ),
        (
            "panel",
            "participants of a panel, who came by its link. The reward was USD 0.15 per task; the "
            "fee on top: the panel's own. Work could be rejected (each task here, and visits at "
            "the panel by a list), and a rejection overturned at any time.",
        ),
        (
            "prolific",
            "participants of Prolific, who came by the link of its study. The reward was USD 0.15 "
            "per task; the fee on top: 42.8%. Work could be rejected (a visit as a whole), and a "
            "rejection overturned where Prolific lets you.",
        ),
    ],
)
def test_who_judged_and_what_the_crowd_took_and_allowed_is_said_by_its_traits(
    tmp_path: Path, crowd: CrowdKind, said: str
) -> None:
    rules = Policy(qualification_items=0).for_crowd(crowd).to_dict()
    words = read(ready(tmp_path / "x", campaign={"crowd": crowd, "policy": rules}))
    assert f"The annotators were {said}" in words


def test_work_in_the_house_that_cost_nothing_says_so(tmp_path: Path) -> None:
    free = {"crowd": "inhouse", "cost_cents": 0, "bonus_cents": 0}
    words = read(ready(tmp_path / "x", campaign=free))
    assert "An in-house team judged: nothing was paid for it." in words
    assert "USD" not in words


def test_the_protocol_is_told_by_the_policys_own_numbers(tmp_path: Path) -> None:
    extract = random_extract(
        2, tie_mode="repack", max_votes=9, max_failure_rate=0.125, min_assignments=17, hit_size=9
    )
    words = read(ready(tmp_path / "x", extract=extract))
    assert "Triplets were judged 9 at a time: 7 real ones" in words
    assert "in a new HIT with fresh controls, up to 9 votes" in words
    assert "failed more than 12.5% of their reviewed assignments, of at least 17" in words
    assert "candidates are the 5 pairs of highest cosine" in words
    assert "Of all question/answer pairs only the 5 of one retriever were judged." in words
    assert "by the model small-model in the form QQA" in words
    assert "12 queries drawn at random (seed 11)" in words


def test_the_sequential_rule_is_named_with_its_bound(tmp_path: Path) -> None:
    words = read(ready(tmp_path / "x", extract=random_extract(2, exclusion_rule="sequential")))
    assert "than is likely of somebody who fails 10% of them (a sequential test" in words


def test_the_other_choices_of_a_policy_are_told_too(tmp_path: Path) -> None:
    extract = random_extract(
        2,
        crowd="inhouse",
        masters=False,
        min_approval_percent=0,
        min_approved=0,
        on_failed_control="pay_and_discard",
        show_answer=False,
        mark_differences=False,
        qualification_items=8,
        train=6,
        dev=1,
        test=2,
    )
    extract.campaign["crowd"] = "inhouse"
    words = read(ready(tmp_path / "x", extract=extract))
    assert "paid, but its votes were discarded and replaced" in words
    assert "Words that only one of the two questions has were not marked." in words
    assert (
        "Of this campaign's assignments, 0 left a question without an answer, 1 missed at least "
        "one control, and a person rejected 0 that passed."
    ) in words
    assert "The answer was not shown." in words
    assert "a team with accounts of their own" in words
    assert "a qualification test of 8 items, 80% of which had to be right" in words
    assert "Wanted: train 6, dev 1, test 2." in words


def test_votes_that_are_as_many_as_they_can_be_are_no_range(tmp_path: Path) -> None:
    words = read(ready(tmp_path / "x", extract=random_extract(2, annotators=3, max_votes=3)))
    assert "A label is the majority of 3 votes of people" in words


def test_the_instructions_are_linked_with_their_checksums(tmp_path: Path) -> None:
    extract = random_extract(2)
    [version] = extract.campaign["instructions"]
    folder = ready(tmp_path / "x", extract=extract)
    rendered = READER.render(body(folder))
    assert '<a href="instructions/1.md">instructions/1.md</a>' in rendered
    assert version["sha256"] in rendered


def test_an_imported_campaign_says_where_its_labels_are_from(tmp_path: Path) -> None:
    origin = {"queries": {"origin": "import", "duplicates_dropped": 0, "total": 20}}
    words = read(ready(tmp_path / "x", campaign=origin | {"retriever": None}))
    assert "20 queries came with a labelled dataset" in words
    assert "Which retriever ranked the candidates is not recorded" in words
    assert "the number of candidates differs from query to query" in words
    assert "only the candidates that came with the dataset have a label" in words
    assert "drawn at random (seed" not in words


def test_queries_of_a_file_are_told(tmp_path: Path) -> None:
    origin = {"queries": {"origin": "file", "duplicates_dropped": 1, "total": 20}}
    words = read(ready(tmp_path / "x", campaign=origin))
    assert "20 queries given in a file; 1 duplicate left out." in words


def test_splits_by_clusters_tell_their_thresholds_and_what_is_left(tmp_path: Path) -> None:
    words = read(ready(tmp_path / "x"))
    assert "a cluster is in one split" in words
    assert "a Jaccard of 0.7 or more), embeddings with a cosine of 0.9 or more," in words
    assert "There are 14,800 clusters of queries, the largest of 21 queries." in words
    assert "split by clusters mean 0.443, highest 0.867" in words
    assert "split at random mean 0.482, highest 1.000" in words


def test_clusters_without_embeddings_say_so(tmp_path: Path) -> None:
    nearness = {"jaccard": 0.7, "cosine": 0.9, "vectors": False}
    words = read(ready(tmp_path / "x", release={"nearness": nearness}))
    assert "no embeddings, or a positive in common" in words
    assert "a cosine of" not in words


def test_random_splits_warn_of_leaks(tmp_path: Path) -> None:
    options = RELEASED["options"] | {"split": "random"}
    words = read(ready(tmp_path / "x", release={"options": options}))
    assert "Queries were split at random" in words
    assert "near-duplicates of queries of train may be in dev and test" in words


def test_only_splits_by_clusters_claim_as_many_answerable_queries(tmp_path: Path) -> None:
    claim = "have a label, with the same share of answerable ones as in all."
    assert claim in read(ready(tmp_path / "x"))
    options = RELEASED["options"] | {"split": "random"}
    words = read(ready(tmp_path / "y", release={"options": options}))
    assert "Dev and test take only queries all of whose candidates have a label. A query" in words
    assert "the same share" not in words


def test_no_held_out_query_leaves_no_similarity_to_tell(tmp_path: Path) -> None:
    nothing = {"counts": [0], "mean": None, "max": None}
    similarity = COMPLETE["similarity"] | {"clusters": nothing, "random": nothing}
    words = read(ready(tmp_path / "x", stats={"similarity": similarity}))
    assert "14,800 clusters of queries" in words
    assert "The similarity of each query" not in words


def test_labels_of_three_votes_or_of_one_say_what_robust_is(tmp_path: Path) -> None:
    three = read(ready(tmp_path / "x", extract=random_extract(2, annotators=3, max_votes=5)))
    assert "3:0 counts as such, although 2 votes alone would make no label." in three
    one = read(ready(tmp_path / "y", extract=random_extract(2, annotators=1, max_votes=5)))
    assert "worker's votes are removed." in one


def test_withheld_queries_are_counted_by_reason(tmp_path: Path) -> None:
    folder = ready(tmp_path / "x")
    lines = [b'{"split": "train", "reason": null}', b'{"split": null, "reason": "b | <i>"}']
    lines += [b'{"split": null, "reason": "a"}'] * 2
    (folder / "placements.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    table = rows(folder, "Splits")
    assert table == [["Queries in no split, because", "queries"], ["a", "2"], ["b | <i>", "1"]]


def test_baselines_name_their_way_and_have_intervals(tmp_path: Path) -> None:
    folder = ready(tmp_path / "x")
    table = rows(folder, "Baselines")
    assert table[0] == ["", "P@1", "MAP", "MRR", "Hit@5"]
    assert table[1][:2] == ["dev, BM25", "0.310 (0.290\u20130.330)"]
    assert table[4][:2] == ["test, the retriever", "0.410 (0.390\u20130.430)"]
    assert "QRC way: a query without a positive counts as 0" in read(folder)


def test_a_split_without_a_query_has_no_baseline(tmp_path: Path) -> None:
    baselines = deepcopy(COMPLETE["baselines"])
    baselines["splits"]["dev"] = None
    folder = ready(tmp_path / "x", stats={"baselines": baselines})
    assert [line[0] for line in rows(folder, "Baselines")[1:]] == [
        "test, BM25",
        "test, the retriever",
    ]
    baselines["splits"]["test"] = None
    (folder / STATS).write_bytes(document(COMPLETE | {"baselines": baselines}))
    assert "Dev and test have no queries" in read(folder)


def test_every_plot_that_the_card_shows_lies_in_the_folder(tmp_path: Path) -> None:
    folder = ready(tmp_path / "x")
    write_plots(folder)
    shown = set(re.findall(r'(?:src|srcset)="([^"]+)"', body(folder)))
    assert shown == {f"plots/{path.name}" for path in (folder / "plots").iterdir()}
    assert len(shown) == 8


def test_the_card_links_every_file_of_the_release(tmp_path: Path) -> None:
    folder = ready(tmp_path / "x")
    linked = set(re.findall(r'href="([^"]+)"', READER.render(body(folder))))
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert linked == there | {"README.md", "croissant.json", "manifest.json"}


def test_the_loading_code_stands_as_it_is(tmp_path: Path) -> None:
    tokens = READER.parse(body(ready(tmp_path / "x")))
    blocks = [token.content for token in tokens if token.type == "fence"]
    *loading, checking, _ = blocks
    assert loading == [f"{snippet.code.strip()}\n" for snippet in snippets("demo-1")]
    assert checking == checksums_code("demo-1")
    assert blocks[-1].startswith("@misc{demo-1,\n  author  = {{The demo authors}},\n")


def test_the_first_release_says_so(tmp_path: Path) -> None:
    assert "This is the first release of the campaign." in read(ready(tmp_path / "x"))


def test_a_later_release_counts_what_changed(tmp_path: Path) -> None:
    previous = {"number": 3, "manifest_sha256": "ab" * 32}
    folder = ready(tmp_path / "x", release={"number": 4, "previous": previous})
    changes: dict[str, Any] = {
        "previous": {"queries": 1, "labels": 2},
        "labels": {"added": 1200, "changed": 3, "withdrawn": 4},
        "queries": {"added": 5, "withdrawn": 6, "moved": 0},
    }
    (folder / CHANGES).write_bytes(document(changes))
    words = read(folder)
    assert "demo, release 4" in words
    assert "Since release 3: labels 1,200 added, 3 changed, 4 withdrawn" in words
    assert "queries 5 added, 6 withdrawn, 0 moved to another split" in words


def test_a_partial_release_says_so_first(tmp_path: Path) -> None:
    options = RELEASED["options"] | {"partial": True}
    triplets = {"triplets": 100, "labelled": 80, "open": 1_234, "unresolved": 0}
    folder = ready(tmp_path / "x", release={"options": options}, campaign={"triplets": triplets})
    first = read(folder).split("Contents")[0]
    assert "This is a partial release. When it was built, 1,234 triplets" in first
    assert "partial" not in read(ready(tmp_path / "y"))


def test_figures_whose_judgments_are_left_out_say_that_nobody_can_check_them(
    tmp_path: Path,
) -> None:
    options = RELEASED["options"] | {"judgments": False}
    folder = ready(tmp_path / "x", release={"options": options})
    words = read(folder)
    assert "figures of the annotators' work cannot be recomputed from the files" in words
    assert "that does not need the judgments, names each" in words
    assert "from the files alone" not in words
    assert "from the files alone" in read(ready(tmp_path / "y"))


def test_figures_that_were_left_out_are_said_to_be(tmp_path: Path) -> None:
    folder = ready(tmp_path / "x", release={"options": RELEASED["options"] | {"judgments": False}})
    left = {key: COMPLETE[key] for key in ("splits", "campaign", "retriever", "similarity")}
    robust = {key: WORKERS[key] for key in ("robust_labels", "robust_share")}
    (folder / STATS).write_bytes(document({**left, "workers": robust, "baselines": None}))
    words = read(folder)
    assert "so were the figures that need them" in words
    assert "Gini" not in words
    assert "398,000 labels" in words
    assert "Label error 6.1%" in words


def test_the_sources_stand_with_their_licences(tmp_path: Path) -> None:
    sources = [
        {"source": "faq", "license": "CC-BY-4.0", "pairs": 12_000},
        {"source": "forum", "license": "", "pairs": 3},
    ]
    assert rows(ready(tmp_path / "x", campaign={"sources": sources}), "Sources and licences") == [
        ["Source", "licence", "question/answer pairs"],
        ["faq", "CC-BY-4.0 (on the Hub: cc-by-4.0)", "12,000"],
        ["forum", "not stated", "3"],
    ]


def test_the_corpus_is_named_with_its_sources(tmp_path: Path) -> None:
    corpus = {"name": "coffee", "sources": ["faq", "forum"]}
    words = read(ready(tmp_path / "x", campaign={"corpus": corpus}))
    assert "The corpus is coffee (sources: faq, forum)." in words
    assert "distinct normalised questions of the corpus coffee." in words
    assert "over 1,000 pairs of the corpus coffee" in words


@pytest.mark.parametrize("corpus", [{"name": "all", "sources": None}, None])
def test_a_release_of_all_pairs_or_an_old_one_speaks_of_the_database(
    tmp_path: Path, corpus: dict[str, Any] | None
) -> None:
    folder = ready(tmp_path / "x", campaign={"corpus": corpus})
    words = read(folder)
    assert "distinct normalised questions of the database." in words
    assert "pairs of the" not in words
    assert ("The corpus is all, which has every source of the database." in words) == bool(corpus)


def test_no_source_is_said_to_be_none(tmp_path: Path) -> None:
    assert "No source of the question/answer pairs is recorded." in read(
        ready(tmp_path / "x", campaign={"sources": []})
    )


HOSTILE = "x | y `z` <script>alert(1)</script> [a](b) ![c](d)\n# h\n--- | ---\n$m$ {{ 7 }} &lt; */"


def test_hostile_texts_bring_no_html_no_link_and_no_row(tmp_path: Path) -> None:
    campaign = random_extract(5).campaign
    hostile = {
        "corpus": {"name": "x", "sources": [HOSTILE]},
        "sources": [{"source": HOSTILE, "license": HOSTILE, "pairs": 1}],
        "retriever": campaign["retriever"] | {"model": HOSTILE, "form": HOSTILE},
        "policy": campaign["policy"] | {"title": HOSTILE, "description": HOSTILE},
    }
    folder = ready(tmp_path / "x", campaign=hostile)
    with_html = READER.parse(OURS.sub("", body(folder)))
    kinds = {child.type for token in with_html for child in (token, *(token.children or []))}
    assert not kinds & {"html_block", "html_inline", "image"}
    plain = READER.parse(OURS.sub("", body(ready(tmp_path / "y"))))
    assert structure(with_html) == structure(plain)
    assert read(folder).count(" ".join(HOSTILE.split())) == 5


def structure(tokens: list[Any]) -> list[str]:
    return [
        child.type
        for token in tokens
        for child in (token, *(token.children or []))
        if child.type not in {"text", "text_special", "softbreak"}
    ]


def test_names_with_underscores_are_no_emphasis(tmp_path: Path) -> None:
    name = "my_own_faq"
    folder = ready(tmp_path / "x", campaign={"campaign": name}, release={"campaign": name})
    assert "<h1>my_own_faq, release 1</h1>" in READER.render(body(folder))
    assert r"{{my\_own\_faq: a question-ranking dataset}}" in body(folder)
