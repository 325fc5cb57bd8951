"""A dataset labelled elsewhere becomes a campaign."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Campaign, Triplet
from annotation.pipeline.controls.negatives import draw_for
from annotation.pipeline.labelling.label import write_labels
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.publishing.pack import pack_hits, triplets_to_judge
from annotation.pipeline.setup.import_dataset import ImportedDataset, import_dataset
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from retrieval.corpus.corpora import create_corpus, remove_corpus
from retrieval.indexing.build import build_index
from retrieval.models import Candidate, QaPair, Query
from retrieval.models.corpus import sources_of
from tests.worlds.account import Account
from tests.worlds.small_campaign import BUDGET_CENTS, ENCODER, TOPICS, Stage

pytestmark = pytest.mark.django_db


def query(text: str, *labels: int | str | None, **fields: Any) -> dict[str, Any]:
    candidates = [
        {"question": f"{text} {number}", "answer": f"because {number}", "label": label}
        for number, label in enumerate(labels, start=1)
    ]
    return {"query": text, "candidates": candidates, **fields}


MOON = query("why is the moon round", 1, 0, None, id="q1")
RAIN = query("why does it rain", "0", "1", id="q2")


def write(path: Path, *lines: dict[str, Any] | str) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def imported(*paths: Path, **options: Any) -> ImportedDataset:
    return import_dataset(paths, "made", policy=Policy(), seed=1, **options)


def labels(campaign: Campaign) -> list[tuple[str, int, int | None, str]]:
    rows = campaign.triplets.order_by("candidate__query__key", "candidate__rank")
    return list(rows.values_list("candidate__query__key", "candidate__rank", "label", "status"))


def test_any_number_of_candidates_comes_with_its_labels(tmp_path: Path) -> None:
    made = imported(write(tmp_path / "qrc.jsonl", MOON, RAIN))
    assert (made.queries, made.candidates, made.labelled, made.positive, made.open) == (
        (2, 5, 4, 2, 1)
    )
    assert labels(made.campaign) == [
        ("q1", 1, 1, "labelled"),
        ("q1", 2, 0, "labelled"),
        ("q1", 3, None, "open"),
        ("q2", 1, 0, "labelled"),
        ("q2", 2, 1, "labelled"),
    ]
    assert made.campaign.policy.candidates_per_query == 3


def test_labels_stay_when_they_are_recomputed(tmp_path: Path) -> None:
    campaign = imported(write(tmp_path / "qrc.jsonl", MOON, RAIN)).campaign
    before = labels(campaign)
    assert write_labels(campaign) == 0
    assert labels(campaign) == before


def test_given_ranks_and_cosines_are_kept_and_other_scores_are_not(tmp_path: Path) -> None:
    line = query("why", 1, 0, 0)
    first, second, third = line["candidates"]
    first |= {"rank": 5, "score": 0.5}
    second |= {"rank": 2, "score": 17.3}  # as BM25 gives them
    third |= {"rank": 9, "score": True}
    imported(write(tmp_path / "qrc.jsonl", line))
    found = Candidate.objects.order_by("rank").values_list("rank", "score", "pair__question")
    assert list(found) == [(2, None, "why 2"), (5, 0.5, "why 1"), (9, None, "why 3")]


def test_files_named_like_splits_say_where_a_query_was_published(tmp_path: Path) -> None:
    packed = tmp_path / "validation.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(RAIN).encode() + b"\n"))
    imported(write(tmp_path / "train.jsonl", MOON), packed)
    assert dict(Query.objects.values_list("key", "split")) == {"q1": "train", "q2": "dev"}


def test_a_pair_that_is_there_already_is_not_stored_twice(tmp_path: Path) -> None:
    write(tmp_path / "one.jsonl", MOON)
    import_dataset([tmp_path / "one.jsonl"], "one", policy=Policy(), seed=1)
    import_dataset([tmp_path / "one.jsonl"], "two", policy=Policy(), seed=1)
    assert QaPair.objects.count() == 3
    assert Triplet.objects.count() == 6


BAD: list[tuple[dict[str, Any] | str, str]] = [
    ("{", "line 2 of .*: the line is not JSON"),
    ("[]", "line 2 of .*: the line is not an object but a list"),
    ({"candidates": []}, "line 2 of .*: there is no query or question"),
    ({"query": "why"}, "line 2 of .*: the list of candidates is missing"),
    ({"query": "why", "candidates": []}, "the list of candidates is missing"),
    ({"query": "why", "candidates": [1]}, "candidate 1: it is no object"),
    (
        {"query": "why", "candidates": [{"question": "a", "answer": "b", "relevance": 1}]},
        "candidate 1: the label is missing: write 1, 0, or null",
    ),
    (query("why", 2), "candidate 1: the label must be 1, 0 or null, not '2'"),
    (query("why", 1, "maybe"), "candidate 2: the label must be 1, 0 or null, not 'maybe'"),
    (query("?!", 1), "the query has only punctuation"),
    (query("why", 1, id="a b"), "the id 'a b' is not made of"),
    (query("Why is the MOON round?", 1), r"the query is also in line 1 of .*/qrc\.jsonl"),
    (query("why", 1, id="q1"), r"the id q1 is also in line 1 of .*/qrc\.jsonl"),
    (
        {"query": "why", "candidates": [{"question": "a", "answer": "b", "label": 1}] * 2},
        "candidates 1 and 2 are the same question and answer",
    ),
    (
        {"query": "why", "candidates": [{"question": "a", "label": 1}]},
        "candidate 1: there is no answer",
    ),
]


@pytest.mark.parametrize(("line", "fault"), BAD)
def test_a_line_that_cannot_be_used_is_named_and_nothing_is_imported(
    tmp_path: Path, line: dict[str, Any] | str, fault: str
) -> None:
    with pytest.raises(UserError, match=fault):
        imported(write(tmp_path / "qrc.jsonl", MOON, line))
    assert not Campaign.objects.exists()
    assert not QaPair.objects.exists()


@pytest.mark.parametrize(("line", "fault"), BAD)
def test_such_lines_are_left_out_on_demand(
    tmp_path: Path, line: dict[str, Any] | str, fault: str
) -> None:
    made = imported(write(tmp_path / "qrc.jsonl", MOON, line, RAIN), skip_faulty=True)
    assert (made.queries, made.lines_skipped) == (2, 1)


def test_a_query_at_the_same_line_of_two_files_of_one_name_is_refused(tmp_path: Path) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "train.jsonl", MOON)
    one, other = (tmp_path / folder / "train.jsonl" for folder in ("one", "other"))
    with pytest.raises(UserError, match=f"line 1 of {other}: the query is also in line 1 of {one}"):
        imported(one, other)


def test_a_file_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "qrc.jsonl", MOON)
    with pytest.raises(UserError, match=f"the query is also in line 1 of {path}"):
        imported(path, path)


def test_two_candidates_of_one_rank_are_refused(tmp_path: Path) -> None:
    line = query("why", 1, 0)
    line["candidates"][0]["rank"] = 2
    with pytest.raises(UserError, match="candidates 1 and 2 both have rank 2"):
        imported(write(tmp_path / "qrc.jsonl", line))


def test_a_file_without_a_usable_line_is_refused_even_then(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^Nothing of .*qrc\.jsonl can be used: line 1"):
        imported(write(tmp_path / "qrc.jsonl", "{"), skip_faulty=True)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is not a .jsonl or .jsonl.gz file"):
        imported(write(tmp_path / "qrc.csv", "query,label"))


def test_a_dataset_joins_the_corpus_that_it_is_imported_into(tmp_path: Path) -> None:
    file = write(tmp_path / "qrc.jsonl", MOON, RAIN)
    import_dataset([file], "first", policy=Policy(), seed=1)
    tea = create_corpus("tea")
    snow = query("why is snow white", 1, 0, id="q3")
    made = imported(write(tmp_path / "more.jsonl", MOON, snow), corpus=tea)
    assert (made.campaign.query_set.corpus, sources_of(tea)) == (tea, ["made"])
    # What the database had before keeps its source, as in any import.
    assert made.elsewhere == 3
    with pytest.raises(UserError, match="has the campaigns made: it stays"):
        remove_corpus(tea)


def test_negative_controls_of_an_imported_dataset_are_of_its_corpus(
    small_database: None, tmp_path: Path
) -> None:
    """`small_database` has the source faq; the dataset brings one of its own."""
    lines = [query(f"what of {topic}", 1, None, id=topic) for topic in TOPICS[:5]]
    made = imported(write(tmp_path / "qrc.jsonl", *lines), corpus=create_corpus("tea"))
    with pytest.raises(UserError, match="no index of the corpus tea yet"):
        draw_for(made.campaign, ["n1"])
    build_index("keywords", "QQA", encoder=ENCODER, corpus=made.campaign.query_set.corpus)
    negatives = draw_for(made.campaign, ["n1", "n2"])
    assert {one.question.split()[0] for one in negatives} == {"what"}
    assert all(QaPair.objects.get(question=one.question).source == "made" for one in negatives)


def test_where_everything_has_a_label_there_is_nothing_to_pack(tmp_path: Path) -> None:
    campaign = imported(write(tmp_path / "qrc.jsonl", RAIN)).campaign
    assert triplets_to_judge(campaign) == 0
    with pytest.raises(UserError, match="came with a label: there is nothing to judge"):
        pack_hits(campaign)


def test_what_has_no_label_is_judged_by_the_crowd_and_the_rest_stays(
    small_database: None, mturk: Account, tmp_path: Path
) -> None:
    lines = [query(f"what of {topic}", 1, None, id=topic) for topic in TOPICS[:5]]
    made = import_dataset(
        [write(tmp_path / "qrc.jsonl", *lines)],
        "made",
        policy=Policy(control_pool_size=6),
        seed=1,
    )
    build_index("keywords", "QQA", encoder=ENCODER)  # of the pairs that came with it, too
    pack_hits(made.campaign)
    set_budget(made.campaign, BUDGET_CENTS)
    stage = Stage(made.campaign, mturk)
    stage.publish()
    assert sorted(stage.triplets(1)) == [(topic, 2) for topic in sorted(TOPICS[:5])]
    for name in ("ada", "bob"):
        stage.work(name, 1, lambda query, _: int(query == "piano"))
    stage.advance()
    labels = stage.labels()
    assert {labels[topic, 1] for topic in TOPICS[:5]} == {1}
    assert {topic: labels[topic, 2] for topic in TOPICS[:5]} == {
        topic: int(topic == "piano") for topic in TOPICS[:5]
    }
