"""A study judges the ranks below a campaign's, and tells by labels known here what they hide."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from annotation.analytics.campaign.progress import progress
from annotation.models import Campaign
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.setup.create import create_campaign
from annotation.pipeline.setup.import_dataset import import_dataset
from annotation.pipeline.setup.instructions import add_version
from annotation.pipeline.setup.pool_depth import create_depth_study, depth_report
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from core.text.clean import pair_key, question_key
from exports.building.options import Options
from exports.building.requests import request_build
from retrieval.index.versions import folder_of
from retrieval.indexing.build import build_index
from retrieval.models import Candidate, QaPair, QuerySet
from retrieval.search.retrieve import retrieve
from tests.support.query_sets import sample_queries
from tests.worlds.account import Account
from tests.worlds.small_campaign import (
    BUDGET_CENTS,
    ENCODER,
    POLICY,
    Judge,
    Stage,
    retrieved_campaign,
    write_rows,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]


def depth_study(parent: Campaign, name: str = "faq-depth", **options: Any) -> Campaign:
    return create_depth_study(parent, name, **{"seed": 1, "encoder": ENCODER, **options})


def ranked(campaign: Campaign) -> dict[str, list[str]]:
    """The pairs' keys of each query, by rank."""
    rows = Candidate.objects.filter(query__query_set=campaign.query_set).order_by("rank")
    found: dict[str, list[str]] = {}
    for query, pair in rows.values_list("query__key", "pair__pair_key"):
        found.setdefault(query, []).append(pair)
    return found


def ranks(campaign: Campaign) -> set[int]:
    found = Candidate.objects.filter(query__query_set=campaign.query_set)
    return set(found.values_list("rank", flat=True))


def judged(campaign: Campaign, mturk: Account, judge: Judge) -> None:
    """Two people say the same of everything."""
    pack_hits(campaign)
    set_budget(campaign, BUDGET_CENTS)
    stage = Stage(campaign, mturk)
    stage.publish()
    for hit in campaign.hits.all():
        for name in ("ada", "cleo"):
            stage.work(name, hit.number, judge)
    stage.advance()


def test_a_study_holds_the_next_ranks_of_the_same_search(tmp_path: Path) -> None:
    parent = retrieved_campaign(tmp_path, candidates_per_query=3)
    deeper = retrieved_campaign(tmp_path, "deeper", candidates_per_query=8)
    study = depth_study(parent, queries=4, to=8)
    assert ranks(study) == {4, 5, 6, 7, 8}
    whole, first, found = ranked(deeper), ranked(parent), ranked(study)
    assert len(found) == 4
    for query, pairs in found.items():
        assert first[query] + pairs == whole[query]
    assert study.query_set.origin == QuerySet.Origin.POOL_DEPTH
    assert study.query_set.drawn_from == parent.query_set
    assert study.query_set.retrieved_with == parent.query_set.retrieved_with
    assert study.query_set.retrieval == {"retrievers": ["dense"], "ranks": [4, 8]}
    assert progress(study)["study_of"] == "faq"


def test_the_seed_draws_the_queries(tmp_path: Path) -> None:
    parent = retrieved_campaign(tmp_path)
    names = [f"depth-{seed}" for seed in range(6)]
    drawn = [
        frozenset(ranked(depth_study(parent, name, queries=2, seed=seed)))
        for seed, name in enumerate(names)
    ]
    assert len(set(drawn)) > 1
    assert frozenset(ranked(depth_study(parent, "again", queries=2, seed=0))) == drawn[0]


def test_it_goes_twice_as_deep_over_all_queries_where_nothing_is_said(tmp_path: Path) -> None:
    study = depth_study(retrieved_campaign(tmp_path))
    assert ranks(study) == {6, 7, 8, 9, 10}
    assert study.query_set.queries.count() == 5


def test_every_query_of_the_parent_stays_held_out(tmp_path: Path) -> None:
    parent = retrieved_campaign(tmp_path)
    study = depth_study(parent, queries=1, to=31)
    held_out = set(parent.query_set.queries.values_list("question_key", flat=True))
    found = Candidate.objects.filter(query__query_set__in=[parent.query_set, study.query_set])
    assert not held_out & set(found.values_list("pair__question_key", flat=True))
    with pytest.raises(UserError, match="has only 31 candidates of 32"):
        depth_study(parent, "too-deep", queries=1, to=32)


def test_of_a_pool_the_study_holds_what_it_left_out(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "q.jsonl", [{"id": "a", "query": "is bread really old and lent"}])
    policy = Policy.from_dict({**POLICY, "candidates_per_query": 4})
    parent = create_campaign("pooled", policy=policy, seed=7, queries=path)
    both = ["dense", "bm25"]
    retrieve(parent.query_set, k=4, retrievers=both, encoder=ENCODER)
    study = depth_study(parent, to=9)
    first, found = ranked(parent)["a"], ranked(study)["a"]
    assert len(found) == 5
    assert not set(first) & set(found)
    assert study.query_set.retrievers == ("dense", "bm25")
    rows = Candidate.objects.filter(query__query_set=study.query_set)
    assert all(rows.values_list("found_by", flat=True))


def test_policy_and_instructions_are_the_parents_and_the_budget_is_its_own(tmp_path: Path) -> None:
    parent = retrieved_campaign(tmp_path, qualification_items=4, reward_cents=17)
    add_version(parent, "Ask yourself twice.")
    set_budget(parent, 1234)
    study = depth_study(parent, queries=2, to=7)
    mine, theirs = study.policy.to_dict(), parent.policy.to_dict()
    assert (mine.pop("candidates_per_query"), theirs.pop("candidates_per_query")) == (2, 5)
    assert mine == theirs
    assert study.instructions.get().text == "Ask yourself twice."
    texts = "position", "query", "question", "expected"
    assert list(study.qualification_items.values_list(*texts)) == list(
        parent.qualification_items.values_list(*texts)
    )
    assert parent.qualification_items.count() == 12  # of three tries
    assert account_of(study).budget_cents == 0


def test_later_campaigns_draw_the_same_queries_as_without_a_study(tmp_path: Path) -> None:
    parent = retrieved_campaign(tmp_path)
    before = sample_queries("before", 4, 3)
    drawn = set(before.queries.values_list("key", flat=True))
    before.delete()
    depth_study(parent, queries=3)
    after = sample_queries("after", 4, 3)
    assert set(after.queries.values_list("key", flat=True)) == drawn


def new_pair() -> str:
    question, answer = "what is new", "this"
    pair = QaPair.objects.create(
        source="faq",
        source_id="new",
        question=question,
        answer=answer,
        question_key=question_key(question),
        pair_key=pair_key(question, answer),
    )
    return pair.pair_key


def test_the_ranks_go_on_in_the_index_of_then_whatever_the_current_one_is(tmp_path: Path) -> None:
    parent = retrieved_campaign(tmp_path)
    newcomer = new_pair()
    build_index("keywords", "QQ", encoder=ENCODER)
    assert all(newcomer not in pairs for pairs in ranked(depth_study(parent)).values())


def test_an_index_of_then_whose_files_are_gone_is_refused(tmp_path: Path) -> None:
    parent = retrieved_campaign(tmp_path)
    index = parent.query_set.retrieved_with
    assert index is not None
    shutil.rmtree(folder_of(index))
    with pytest.raises(UserError, match=r"is missing: .*quorum index build"):
        depth_study(parent)
    assert not Campaign.objects.filter(name="faq-depth").exists()


def test_a_pair_that_came_after_the_index_is_in_no_study(tmp_path: Path) -> None:
    parent = retrieved_campaign(tmp_path)
    newcomer = new_pair()
    assert all(newcomer not in pairs for pairs in ranked(depth_study(parent)).values())


def test_a_pair_withdrawn_since_is_in_no_study(tmp_path: Path) -> None:
    parent = retrieved_campaign(tmp_path)
    next_one = ranked(depth_study(parent, queries=1))
    [(query, pairs)] = next_one.items()
    QaPair.objects.filter(pair_key=pairs[0]).update(withdrawn_at=timezone.now())
    again = ranked(depth_study(parent, "again", queries=1))
    assert again[query][:4] == pairs[1:]


def test_a_campaign_without_candidates_of_a_search_is_refused(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "mine.jsonl", [{"query": "how is bread made"}])
    policy = Policy.from_dict(POLICY)
    waiting = create_campaign("waiting", policy=policy, seed=7, queries=path)
    with pytest.raises(UserError, match="are not retrieved yet, so no rank hides anything: run"):
        depth_study(waiting, "nothing")
    made = tmp_path / "made.jsonl"
    made.write_text(
        '{"query": "why", "candidates": [{"question": "why so", "answer": "so", "label": 1}]}\n'
    )
    imported = import_dataset([made], "made", policy=policy, seed=7).campaign
    with pytest.raises(UserError, match="came with its candidates"):
        depth_study(imported, "nothing")


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"to": 5}, "is from 6 to 1000, not 5"),
        ({"to": 1001}, "is from 6 to 1000, not 1001"),
        ({"queries": 0}, "0 queries of faq cannot be drawn: it has 5"),
        ({"queries": 6}, "6 queries of faq cannot be drawn: it has 5"),
    ],
)
def test_what_cannot_be_drawn_or_judged_is_refused(
    tmp_path: Path, options: dict[str, int], refusal: str
) -> None:
    parent = retrieved_campaign(tmp_path)
    with pytest.raises(UserError, match=refusal):
        depth_study(parent, **options)


def test_a_study_is_not_studied_and_not_released(tmp_path: Path) -> None:
    parent = retrieved_campaign(tmp_path)
    study = depth_study(parent)
    with pytest.raises(
        UserError, match="is a pool depth study itself: study faq, to a deeper rank"
    ):
        depth_study(study, "deeper")
    with pytest.raises(UserError, match="is a pool depth study of faq and has no releases"):
        request_build(study, options=Options(), by=None)
    with pytest.raises(UserError, match="faq is no pool depth study: make one by"):
        depth_report(parent)


def test_the_report_is_the_one_worked_out_by_hand(tmp_path: Path, mturk: Account) -> None:
    """At ranks 1 and 2 bread has two positives, piano one; at 3 and 4 piano has one, rocket two."""
    good = {("bread", 1), ("bread", 2), ("piano", 1), ("piano", 4), ("rocket", 3), ("rocket", 4)}
    parent = retrieved_campaign(tmp_path, candidates_per_query=2)
    study = depth_study(parent)
    with pytest.raises(UserError, match="No query of faq-depth has all its labels yet"):
        depth_report(study)
    judged(parent, mturk, lambda query, rank: int((query, rank) in good))
    with pytest.raises(UserError, match="No query of faq-depth has all its labels yet"):
        depth_report(study)
    judged(study, mturk, lambda query, rank: int((query, rank) in good))
    report = depth_report(study)
    assert (report.studied, report.first, report.last, report.queries) == (parent, 2, 4, 5)
    found = report.hidden
    assert (found.queries, found.without_a_label) == (5, 0)
    assert (found.positives_at_first, found.positives_at_next) == ([2, 1], [1, 2])
    assert (found.positives_per_query_first, found.positives_per_query_next) == (0.6, 0.6)
    assert found.hidden_share == 0.5
    assert (found.answerless_first, found.answerless_with_one_next) == (3, 1)


def test_a_query_with_an_open_triplet_is_left_out_of_the_report(
    tmp_path: Path, mturk: Account
) -> None:
    parent = retrieved_campaign(tmp_path, candidates_per_query=2)
    study = depth_study(parent)
    for campaign in (parent, study):
        judged(campaign, mturk, lambda query, rank: 1)
    triplet = study.triplets.get(candidate__query__key="piano", candidate__rank=3)
    triplet.status, triplet.label = "open", None
    triplet.save()
    report = depth_report(study)
    assert (report.queries, report.hidden.queries) == (5, 4)
    assert report.hidden.positives_at_next == [4, 4]
