"""Some of a campaign's queries for a second crowd: none is lost, none is in both."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from annotation.analytics.campaign.progress import progress
from annotation.models import Campaign, Control
from annotation.pipeline.controls.drafts import add_draft, confirm
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.publishing.second_crowd import create_second_crowd
from annotation.pipeline.setup.create_pilot import create_pilot
from annotation.pipeline.setup.default_instructions import default_instructions
from annotation.pipeline.setup.import_dataset import import_dataset
from annotation.pipeline.setup.instructions import add_version
from annotation.pipeline.setup.pool_depth import create_depth_study, depth_report
from annotation.protocol.policy.crowds import PROLIFIC, Fee
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from retrieval.models import Candidate, QuerySet
from retrieval.search.retrieve import retrieve
from tests.support.threads import together
from tests.worlds.account import Account
from tests.worlds.small_campaign import (
    BUDGET_CENTS,
    ENCODER,
    QUERIES,
    packed_campaign,
    retrieved_campaign,
    write_rows,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]
TOPICS = sorted(QUERIES)


def second_crowd(first: Campaign, name: str = "team", **how: Any) -> Campaign:
    wanted = {"crowd": "inhouse", "seed": 1, **({} if "ids" in how else {"queries": 2}), **how}
    return create_second_crowd(first, name, **wanted)


def keys(campaign: Campaign) -> list[str]:
    return sorted(campaign.query_set.queries.values_list("key", flat=True))


def ranked(*campaigns: Campaign) -> list[tuple[str, int, str]]:
    found = Candidate.objects.filter(query__query_set__in=[one.query_set for one in campaigns])
    return sorted(found.values_list("query__key", "rank", "pair__pair_key"))


def positions(campaign: Campaign) -> list[int]:
    return sorted(campaign.query_set.queries.values_list("position", flat=True))


def triplets(campaign: Campaign) -> set[tuple[str, int]]:
    found = campaign.triplets.values_list("candidate__query__key", "candidate__rank")
    return set(found)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    shares=st.lists(
        st.one_of(st.integers(1, 2), st.lists(st.sampled_from(TOPICS), min_size=1, max_size=2)),
        min_size=1,
        max_size=3,
    ),
    seed=st.integers(0, 99),
    is_packed=st.booleans(),
)
def test_no_query_is_in_two_crowds_and_none_is_lost(
    tmp_path: Path, shares: list[int | list[str]], seed: int, is_packed: bool
) -> None:
    with transaction.atomic():
        first = (packed_campaign if is_packed else retrieved_campaign)(tmp_path)
        before = ranked(first)
        for crowd, share in zip(("inhouse", "panel", "prolific"), shares, strict=False):
            take_share(first, crowd, share, seed)
        campaigns = list(first.crowds)
        assert sorted(key for one in campaigns for key in keys(one)) == TOPICS
        assert ranked(*campaigns) == before
        for one in campaigns:
            assert positions(one) == list(range(1, len(keys(one)) + 1))
            pack_hits(one)
            assert triplets(one) == {(key, rank) for key, rank, _ in ranked(one)}
        transaction.set_rollback(True)


def take_share(first: Campaign, crowd: str, share: int | list[str], seed: int) -> None:
    there = set(keys(first))
    named = set() if isinstance(share, int) else set(share)
    moved = share if isinstance(share, int) else len(named)
    how = {"queries": share} if isinstance(share, int) else {"ids": share}
    try:
        second = second_crowd(first, crowd, crowd=crowd, seed=seed, **how)
    except UserError:
        assert moved >= len(there) or not named <= there
        return
    assert len(keys(second)) == moved
    assert named <= set(keys(second)) <= there


def test_the_seed_draws_the_queries(tmp_path: Path) -> None:
    drawn = [
        keys(second_crowd(retrieved_campaign(tmp_path, f"faq{n}"), f"team{n}", seed=n // 2))
        for n in range(6)
    ]
    assert drawn[::2] == drawn[1::2]
    assert len({tuple(one) for one in drawn}) > 1


def test_the_second_has_the_first_one_s_rules_for_another_crowd(tmp_path: Path) -> None:
    rules = {"annotators": 3, "cannot_judge_limit": 1, "qualification_items": 4, "masters": True}
    first = retrieved_campaign(tmp_path, **rules)
    policy = second_crowd(first, reward_cents=7).policy
    assert policy.decides_like(first.policy)
    assert not policy.decides_like(Policy.from_dict({**policy.to_dict(), "annotators": 2}))
    differing = {k for k, v in policy.to_dict().items() if first.policy.to_dict()[k] != v}
    assert differing == {"crowd", "masters", "min_approval_percent", "min_approved", "reward_cents"}
    assert (policy.crowd, policy.reward_cents) == ("inhouse", 7)
    at_prolific = second_crowd(first, "there", crowd="prolific")
    assert at_prolific.policy.reward_cents == PROLIFIC.reward_cents
    assert not at_prolific.qualification_items.exists()
    other = retrieved_campaign(tmp_path, "other")
    with pytest.raises(UserError, match="does not suit the crowd prolific: reward_cents must be"):
        second_crowd(other, "unpaid", crowd="prolific", reward_cents=0)


def test_a_second_crowd_at_prolific_has_the_account_s_fee_of_today(
    tmp_path: Path, settings: Settings
) -> None:
    first = retrieved_campaign(tmp_path)
    settings.PROLIFIC_FEE_PERMILLE, settings.PROLIFIC_VAT_PERMILLE = 333, 200
    policy = second_crowd(first, crowd="prolific").policy
    assert policy.fee == Fee(333, vat_permille=200)
    assert policy.decides_like(first.policy)


def test_the_second_has_the_first_one_s_wording_and_test(tmp_path: Path) -> None:
    first = retrieved_campaign(tmp_path, qualification_items=4)
    usual = second_crowd(first, queries=1)
    text = usual.instructions.get().text
    assert text == default_instructions(usual.policy) != first.instructions.get().text
    asked = [
        list(one.qualification_items.values_list("query", "position")) for one in (first, usual)
    ]
    assert asked[0] == asked[1] != []
    add_version(first, "Our own words.", author="ada")
    own = second_crowd(first, "panel", crowd="panel", queries=1)
    assert own.instructions.get().text == "Our own words."


def test_packed_hits_are_deleted_and_both_are_packed_anew(tmp_path: Path) -> None:
    first = packed_campaign(tmp_path)
    leaving = triplets(first)
    second = second_crowd(first, ids=["bread", "piano"])
    assert not first.hits.exists()
    assert {key for key, _ in triplets(second)} == {"bread", "piano"}
    assert triplets(first) | triplets(second) == leaving
    assert [pack_hits(one).triplets for one in (first, second)] == [15, 10]
    for one in (first, second):
        shown = set(one.hits.values_list("items__triplet__candidate__query__key", flat=True))
        assert shown - {None} == set(keys(one))


def test_every_query_stays_held_out_for_both(tmp_path: Path) -> None:
    first = retrieved_campaign(tmp_path)
    held_out = set(first.query_set.queries.values_list("question_key", flat=True))
    second = second_crowd(first)
    for one in (first, second):
        assert set(one.query_set.whole.values_list("question_key", flat=True)) == held_out
        study = create_depth_study(one, f"{one}-depth", queries=1, to=31, seed=1, encoder=ENCODER)
        found = Candidate.objects.filter(query__query_set=study.query_set)
        assert not held_out & set(found.values_list("pair__question_key", flat=True))
        pack_hits(one)
        told = set(one.controls.values_list("query", "question"))
        assert not {f"how is {topic} made" for topic in TOPICS} & {
            text for two in told for text in two
        }


def test_nothing_is_retrieved_again(tmp_path: Path) -> None:
    first = retrieved_campaign(tmp_path)
    second = second_crowd(first)
    for one in (first, second):
        before = ranked(one)
        assert retrieve(one.query_set, k=5, encoder=ENCODER) == len(before)
        assert ranked(one) == before


def test_controls_of_its_own_go_with_their_queries(tmp_path: Path) -> None:
    first = retrieved_campaign(tmp_path)
    for topic in ("bread", "candle"):
        for question in (f"the making of {topic}", f"making {topic}"):
            draft = add_draft(first, Control.Kind.POSITIVE, QUERIES[topic], question, "Ten.")
            if question.startswith("the"):
                confirm(draft, question, "Ten.", by="ada", now=timezone.now())
    second = second_crowd(first, ids=["bread"])
    for one, topic in ((first, "candle"), (second, "bread")):
        assert [each.query for each in one.controls.all()] == [QUERIES[topic]]
        drafts = one.control_drafts.values_list("query__key", "control__campaign__name", "state")
        assert set(drafts) == {(topic, one.name, "confirmed"), (topic, None, "open")}


def test_labels_of_an_imported_dataset_go_with_their_queries(tmp_path: Path) -> None:
    rows = [
        {
            "id": key,
            "query": text,
            "candidates": [{"question": f"{key}?", "answer": "Yes.", "label": n}],
        }
        for n, (key, text) in zip((0, 1, None, None, 1), QUERIES.items(), strict=True)
    ]
    path = write_rows(tmp_path / "train.jsonl", rows)  # type: ignore[arg-type]
    first = import_dataset([path], "elsewhere", policy=Policy(), seed=1).campaign
    second = second_crowd(first, ids=["piano", "rocket"])
    assert second.query_set.brings_candidates
    assert set(second.triplets.values_list("candidate__query__key", "label")) == {
        ("piano", 1),
        ("rocket", None),
    }
    assert first.triplets.count() == 3


def test_a_study_from_before_is_compared_with_both(tmp_path: Path, mturk: Account) -> None:
    first = retrieved_campaign(tmp_path)
    study = create_depth_study(first, "depth", queries=5, seed=1, encoder=ENCODER)
    second = second_crowd(first)
    for one in (first, second, study):
        pack_hits(one)
        one.triplets.update(status="labelled", label=0, label_source="majority")
    assert depth_report(study).hidden.queries == 5
    assert progress(second)["released_with"] == ["faq", "team"] == progress(first)["released_with"]
    assert "released_with" not in progress(study)


def published(folder: Path, mturk: Account) -> Campaign:
    first = packed_campaign(folder)
    publish(first, mturk.crowd)
    return first


def test_a_second_crowd_that_cannot_be_is_refused(tmp_path: Path, mturk: Account) -> None:
    first = retrieved_campaign(tmp_path)
    study = create_depth_study(first, "depth", seed=1, encoder=ENCODER)
    pilot = create_pilot(first, "pilot", triplets=4, seed=1)
    before = QuerySet.objects.count()
    for campaign, how, sentence in (
        (first, {"crowd": "mturk"}, "The crowd of campaign faq is mturk already"),
        (first, {"queries": 5}, "These are all 5 queries of faq: leave some"),
        (first, {"queries": 6}, "6 queries of faq cannot be drawn: it has 5"),
        (first, {"queries": None}, "how many, or their ids, and not both"),
        (first, {"queries": 1, "ids": ["bread"]}, "how many, or their ids, and not both"),
        (first, {"ids": ["bread", "milk"]}, "faq has no queries milk: name some of its 5 queries"),
        (first, {"name": "faq"}, "There is a campaign 'faq' already"),
        (study, {}, "Campaign depth is a study and has no releases"),
        (pilot.shown, {}, "Campaign pilot-with is a study and has no releases"),
    ):
        with pytest.raises(UserError, match=sentence):
            second_crowd(campaign, **how)
    assert QuerySet.objects.count() == before
    second = second_crowd(first, queries=1)
    with pytest.raises(UserError, match="Campaign team is a second crowd itself"):
        second_crowd(second, "third", crowd="panel", queries=1)
    with pytest.raises(UserError, match="The crowd of campaign team is inhouse already"):
        second_crowd(first, "third", queries=1)


def test_queries_are_taken_between_retrieval_and_publication(
    tmp_path: Path, mturk: Account
) -> None:
    first = published(tmp_path, mturk)
    with pytest.raises(UserError, match="Campaign faq is published: a second crowd takes its"):
        second_crowd(first)
    assert first.hits.count() == 5
    QuerySet.objects.filter(campaign=first).update(retrieved_with=None)
    Campaign.objects.filter(pk=first.pk).update(endpoint="")
    with pytest.raises(UserError, match="faq has no candidates yet: run `quorum campaign retrieve"):
        second_crowd(first)


@pytest.mark.concurrent
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("crowds", [("inhouse", "inhouse"), ("inhouse", "panel")])
def test_of_two_at_once_each_takes_other_queries(tmp_path: Path, crowds: tuple[str, str]) -> None:
    first = packed_campaign(tmp_path)

    def take(number: int) -> str:
        try:
            second_crowd(first, f"team{number}", crowd=crowds[number])
        except UserError as refused:
            return str(refused)
        return ""

    said = together(partial(take, 0), partial(take, 1))
    alike = crowds[0] == crowds[1]
    assert sorted(map(bool, said)) == [False, alike]
    campaigns = list(first.crowds)
    assert [len(keys(one)) for one in campaigns] == ([3, 2] if alike else [1, 2, 2])
    assert sorted(key for one in campaigns for key in keys(one)) == TOPICS


@pytest.mark.concurrent
@pytest.mark.django_db(transaction=True)
def test_queries_are_not_taken_while_they_are_packed_or_published(
    tmp_path: Path, mturk: Account
) -> None:
    first = retrieved_campaign(tmp_path)
    set_budget(first, BUDGET_CENTS)
    together(partial(pack_hits, first), partial(second_crowd, first))
    second = first.crowds.get(name="team")
    for one in (first, second):
        packed = one.hits.exists()
        assert triplets(one) in (set(), {(key, rank) for key, rank, _ in ranked(one)})
        assert packed <= (len(triplets(one)) == 5 * len(keys(one)))
