import random
import re
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from annotation.models import Campaign, Control, HitItem, Instructions
from annotation.pipeline.controls.controls import Texts, replace, retire
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.setup.create import create_campaign
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from retrieval.indexing.build import build_index
from retrieval.models import Candidate, QaPair
from retrieval.search.retrieve import pair_vectors
from tests.worlds.mturk import Killed
from tests.worlds.small_campaign import (
    ENCODER,
    PAIRS,
    QUERIES,
    fill_database,
    packed_campaign,
    retrieved_campaign,
)

pytestmark = pytest.mark.django_db

NEGATIVES = 5 + 3  # one a HIT, and those of a HIT of one triplet, should one be repacked

Shown = tuple[str, str, str, str]  # kind, query, question, answer


def texts(item: HitItem) -> Shown:
    if item.control is not None:
        control = item.control
        return control.kind, control.query, control.question, control.answer
    assert item.triplet is not None
    candidate = item.triplet.candidate
    return "real", candidate.query.text, candidate.pair.question, candidate.pair.answer


def contents(campaign: Campaign) -> list[list[Shown]]:
    """The texts of each HIT in the order shown."""
    related = "control", "triplet__candidate__query", "triplet__candidate__pair"
    return [
        [texts(item) for item in hit.items.select_related(*related).order_by("position")]
        for hit in campaign.hits.order_by("number")
    ]


def real(hit: list[Shown]) -> set[Shown]:
    return {text for text in hit if text[0] == "real"}


def negatives(campaign: Campaign) -> list[Control]:
    return list(campaign.controls.filter(kind="negative").order_by("key"))


@pytest.fixture
def packed(small_database: None, tmp_path: Path) -> Campaign:
    return packed_campaign(tmp_path)


def test_every_candidate_is_in_one_hit(packed: Campaign) -> None:
    items = HitItem.objects.filter(hit__campaign=packed, control=None)
    judged = items.values_list("triplet__candidate__query__key", "triplet__candidate__rank")
    assert sorted(judged) == sorted((query, rank) for query in QUERIES for rank in range(1, 6))


def test_a_hit_holds_five_triplets_of_five_queries_and_a_control_of_each_kind(
    packed: Campaign,
) -> None:
    assert len(contents(packed)) == 5
    for hit in contents(packed):
        assert sorted(kind for kind, *_ in hit) == ["negative", "positive"] + ["real"] * 5
        assert len({query for kind, query, *_ in hit if kind == "real"}) == 5


def test_a_negative_s_questions_share_no_long_word_and_are_not_near(packed: Campaign) -> None:
    pairs = {pair.question: pair.pk for pair in QaPair.objects.all()}
    assert len(negatives(packed)) == NEGATIVES
    for control in negatives(packed):
        words = [set(re.findall(r"\w{5,}", text)) for text in (control.query, control.question)]
        assert words[0].isdisjoint(words[1])
        first, second = pair_vectors([pairs[control.query], pairs[control.question]])
        assert float(first @ second) <= packed.policy.negative_max_cosine


@pytest.mark.usefixtures("small_database")
def test_near_questions_make_no_negative(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Only 0 of 8 negative controls were found among 31"):
        packed_campaign(tmp_path, negative_max_cosine=-1.0)


@pytest.mark.usefixtures("db")
def test_a_shared_long_word_makes_no_negative(tmp_path: Path, settings: Settings) -> None:
    settings.INDEX_DIR = tmp_path / "index"
    fill_database(tmp_path, tuple((f"{question} really", answer) for question, answer in PAIRS))
    with pytest.raises(UserError, match="Only 0 of 8 negative controls"):
        packed_campaign(tmp_path)


@pytest.mark.usefixtures("db")
def test_a_shared_short_word_does_no_harm(tmp_path: Path, settings: Settings) -> None:
    settings.INDEX_DIR = tmp_path / "index"
    fill_database(tmp_path, tuple((f"{question} then", answer) for question, answer in PAIRS))
    assert len(negatives(packed_campaign(tmp_path))) == NEGATIVES


def test_no_held_out_question_is_in_a_negative(packed: Campaign) -> None:
    held_out = {query.casefold().rstrip("?") for query in QUERIES.values()}
    shown = {text for control in negatives(packed) for text in (control.query, control.question)}
    assert shown.isdisjoint(held_out)
    assert shown <= {question for question, _ in PAIRS}


def test_a_negative_carries_the_answer_of_its_question(packed: Campaign) -> None:
    answers = dict(PAIRS)
    assert all(control.answer == answers[control.question] for control in negatives(packed))


def test_an_item_s_key_tells_nothing_of_its_kind(packed: Campaign) -> None:
    items = HitItem.objects.filter(hit__campaign=packed)
    assert all(re.fullmatch("[0-9a-f]{16}", item.key) for item in items)
    by_key = [item.control is None for item in items.order_by("key")]
    by_position = [item.control is None for item in items.order_by("hit", "position")]
    assert by_key != by_position
    assert by_key != sorted(by_key)


def test_controls_do_not_stand_in_the_same_places(packed: Campaign) -> None:
    max_assignments = {
        tuple(place for place, (kind, *_) in enumerate(hit) if kind != "real")
        for hit in contents(packed)
    }
    assert len(max_assignments) > 2


def test_hits_have_the_policy_s_places(packed: Campaign) -> None:
    assert {hit.max_assignments for hit in packed.hits.all()} == {2}
    assert list(packed.hits.order_by("number").values_list("number", flat=True)) == [1, 2, 3, 4, 5]


@pytest.mark.usefixtures("small_database")
def test_hits_keep_the_wording_in_force(tmp_path: Path) -> None:
    campaign = retrieved_campaign(tmp_path)
    Instructions.objects.create(campaign=campaign, version=2, text="Read twice.")
    pack_hits(campaign)
    assert {hit.instructions.version for hit in campaign.hits.all()} == {2}


def test_a_campaign_is_packed_once(packed: Campaign) -> None:
    before = contents(packed)
    assert astuple(pack_hits(packed)) == (25, 5, True)
    assert contents(packed) == before
    assert len(negatives(packed)) == NEGATIVES


def test_packed_again_it_is_the_same_without_negatives_that_were_retired_or_replaced(
    packed: Campaign,
) -> None:
    before = contents(packed)
    pack_hits(packed, again=True)
    assert contents(packed) == before
    drawn = negatives(packed)
    retire(drawn[0], now=timezone.now())
    replace(drawn[1], Texts("how is ada", "why is bob", "Well."), now=timezone.now())
    pack_hits(packed, again=True)
    kept = {(one.query, one.question) for one in negatives(packed) if one.retired_at is None}
    assert len(kept) == NEGATIVES
    assert not kept & {(one.query, one.question) for one in drawn[:2]}
    assert [real(hit) for hit in contents(packed)] == [real(hit) for hit in before]


def test_progress_counts_the_hits(small_database: None, tmp_path: Path) -> None:
    steps: list[int] = []
    pack_hits(retrieved_campaign(tmp_path), progress=steps.append)
    assert sum(steps) == 5


@pytest.mark.usefixtures("small_database")
def test_a_last_hit_short_of_triplets_is_filled_with_controls(tmp_path: Path) -> None:
    hits = contents(packed_campaign(tmp_path, candidates_per_query=3, hit_size=6))
    kinds = [sorted(kind for kind, *_ in hit) for hit in hits]
    assert kinds[:-1] == [["negative", "positive"] + ["real"] * 4] * 3
    assert kinds[-1] == ["negative", "negative", "positive"] + ["real"] * 3


def refused(campaign: Campaign, sentence: str) -> None:
    """Packing is refused and leaves nothing behind."""
    with pytest.raises(UserError, match=sentence):
        pack_hits(campaign)
    assert not campaign.hits.exists()
    assert not campaign.triplets.exists()
    assert not campaign.controls.exists()


@pytest.mark.usefixtures("small_database")
def test_queries_without_candidates_are_not_packed() -> None:
    campaign = create_campaign("faq", policy=Policy(), seed=1, sample=2)
    refused(campaign, "has 0 candidates where its policy wants 60: run `quorum campaign retr")


@pytest.mark.usefixtures("small_database")
def test_a_query_that_lacks_a_candidate_is_not_packed(tmp_path: Path) -> None:
    campaign = retrieved_campaign(tmp_path)
    Candidate.objects.filter(rank=5)[0].delete()
    refused(campaign, "has 24 candidates where its policy wants 25")


@pytest.mark.usefixtures("small_database")
def test_too_small_a_pool_of_positives_is_refused(tmp_path: Path) -> None:
    campaign = retrieved_campaign(tmp_path)
    for control in Control.objects.all()[:2]:
        control.delete()
    refused(campaign, "holds 4 positive controls, but 5 HITs need at least 5: draft controls")


@pytest.mark.usefixtures("small_database")
def test_a_database_too_uniform_for_negatives_is_refused(tmp_path: Path) -> None:
    refused(retrieved_campaign(tmp_path, negative_max_cosine=-0.5), "negative controls were found")


@pytest.mark.usefixtures("small_database")
def test_a_pair_that_is_gone_since_the_index_was_made_is_in_no_control(tmp_path: Path) -> None:
    campaign = retrieved_campaign(tmp_path)
    gone = QaPair.objects.filter(candidacies=None)[0]
    gone.delete()
    assert pack_hits(campaign).hits
    assert not campaign.controls.filter(question=gone.question).exists()


@pytest.mark.usefixtures("small_database")
def test_who_is_killed_while_packing_leaves_nothing(tmp_path: Path) -> None:
    def die(_: int) -> None:
        raise Killed

    campaign = retrieved_campaign(tmp_path)
    with pytest.raises(Killed):
        pack_hits(campaign, progress=die)
    assert not campaign.hits.exists()
    assert not campaign.triplets.exists()
    assert not campaign.controls.exists()
    assert pack_hits(campaign).already is False


def packed_from(folder: Path, pairs: Sequence[tuple[str, str]]) -> list[list[Shown]]:
    """The texts of the HITs that come of these rows; nothing of it stays in the database."""
    with transaction.atomic():
        fill_database(folder, tuple(pairs))
        hits = contents(packed_campaign(folder))
        transaction.set_rollback(True)
    return hits


def test_the_order_of_the_rows_decides_nothing(
    db: None, tmp_path: Path, settings: Settings
) -> None:
    settings.INDEX_DIR = tmp_path / "index"
    # More than the negatives are drawn from.
    pairs = [*PAIRS, *((f"where is number{one}", f"In place {one}.") for one in range(80))]
    hits = packed_from(tmp_path, pairs)
    assert packed_from(tmp_path, random.Random(1).sample(pairs, len(pairs))) == hits


@pytest.mark.usefixtures("small_database")
def test_another_seed_packs_other_hits(tmp_path: Path) -> None:
    campaign = packed_campaign(tmp_path)
    hits = contents(campaign)
    other = retrieved_campaign(tmp_path, "other")
    other.seed += 1
    other.save()
    pack_hits(other)
    assert [real(hit) for hit in contents(other)] != [real(hit) for hit in hits]
    assert [len(hit) for hit in contents(other)] == [7] * 5


@pytest.mark.usefixtures("small_database")
def test_negatives_are_not_judged_by_another_index_than_the_candidates(tmp_path: Path) -> None:
    campaign = retrieved_campaign(tmp_path)
    build_index("keywords", "QQ", encoder=ENCODER)
    refused(campaign, "run `quorum index build --model keywords --form QQA` first")
    build_index("keywords", "QQA", encoder=ENCODER)
    assert pack_hits(campaign).hits == 5
