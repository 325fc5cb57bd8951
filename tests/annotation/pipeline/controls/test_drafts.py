"""Drafts are found in the corpus, and a person makes controls of them."""

from pathlib import Path

import pytest
from django.utils import timezone

from annotation.models import Campaign, Control, ControlDraft
from annotation.pipeline.controls.controls import Texts, replace, retire
from annotation.pipeline.controls.drafts import add_draft, confirm, dismiss, draft_controls
from annotation.pipeline.publishing.pack import pack_hits
from core.errors import UserError
from retrieval.indexing.build import build_index
from retrieval.models import QaPair
from tests.worlds.small_campaign import ENCODER, PAIRS, QUERIES, retrieved_campaign

pytestmark = pytest.mark.django_db

NOW = timezone.now()


@pytest.fixture
def campaign(small_database: None, tmp_path: Path) -> Campaign:
    return retrieved_campaign(tmp_path)


def drafted(campaign: Campaign, kind: str) -> list[ControlDraft]:
    return list(campaign.control_drafts.filter(kind=kind).order_by("pk"))


def confirmed(campaign: Campaign) -> list[Control]:
    return [
        confirm(one, one.question, one.answer, by="dan", now=NOW)
        for one in campaign.control_drafts.order_by("pk")
    ]


def test_drafts_are_of_the_campaign_s_own_queries_and_corpus(campaign: Campaign) -> None:
    """ "How is bread made?" keeps its own answer; what is below it is of other topics."""
    found = draft_controls(campaign, encoder=ENCODER)
    positives, negatives = drafted(campaign, "positive"), drafted(campaign, "negative")
    assert (found.queries, found.new) == (5, len(positives) + len(negatives))
    assert found.open == found.new
    bread = [one for one in positives if one.query.text == QUERIES["bread"]]
    assert "How bread is made?" in {one.question for one in bread}
    assert {one.answer for one in bread} == {"About bread: answer 0."}
    assert {one.query.text for one in negatives} == set(QUERIES.values())
    topics = {pair: pair[1].split(":")[0] for pair in PAIRS}
    for one in negatives:
        assert topics[one.question, one.answer] != f"About {one.query.key}"


def test_a_draft_in_own_words_waits_like_any(campaign: Campaign) -> None:
    """As it is given, or with the answer that is the query's own."""
    own = add_draft(campaign, Control.Kind.POSITIVE, "how is bread made", "how to bake a loaf", "")
    assert (own.query.text, own.answer) == (QUERIES["bread"], "About bread: answer 0.")
    given = add_draft(
        campaign, Control.Kind.NEGATIVE, QUERIES["bread"], "who eats bread?", " All. "
    )
    assert (given.question, given.answer, given.state) == ("who eats bread?", "All.", "open")
    control = confirm(given, given.question, given.answer, by="dan", now=NOW)
    assert (control.kind, control.drafted, control.campaign) == ("negative", True, campaign)


@pytest.mark.parametrize(
    ("kind", "query", "question", "why"),
    [
        ("positive", "what is nobody asking", "anything", "has no query 'what is nobody asking'"),
        ("positive", QUERIES["bread"], "how is bread made", "the same text"),
        ("negative", QUERIES["bread"], "who eats bread?", "the answer is empty"),
        ("positive", QUERIES["bread"], "a known one", "drafted for the query already"),
    ],
)
def test_a_draft_that_is_none_is_refused(
    campaign: Campaign, kind: str, query: str, question: str, why: str
) -> None:
    add_draft(campaign, Control.Kind.POSITIVE, QUERIES["bread"], "a known one", "")
    with pytest.raises(UserError, match=why):
        add_draft(campaign, Control.Kind(kind), query, question, "")
    assert campaign.control_drafts.count() == 1


def test_the_answer_of_a_pair_that_is_withdrawn_is_in_no_draft(campaign: Campaign) -> None:
    QaPair.objects.filter(question="how is bread made").update(withdrawn_at=NOW)
    draft_controls(campaign, encoder=ENCODER)
    assert not campaign.control_drafts.filter(answer="About bread: answer 0.").exists()


def test_drafts_are_made_after_more_pairs_came_and_were_indexed(campaign: Campaign) -> None:
    QaPair.objects.create(
        source="faq", source_id="new", question="q", answer="a", question_key="q", pair_key="f" * 64
    )
    build_index("keywords", "QQA", encoder=ENCODER)
    assert draft_controls(campaign, encoder=ENCODER).new > 0


def test_no_draft_is_a_control_before_a_person_confirms_it(campaign: Campaign) -> None:
    draft_controls(campaign, encoder=ENCODER)
    assert not campaign.controls.exists()
    pack_hits(campaign)
    assert not campaign.controls.filter(drafted=True).exists()


def test_again_nothing_is_drafted_twice_whatever_was_decided(campaign: Campaign) -> None:
    first = draft_controls(campaign, encoder=ENCODER)
    dismiss(drafted(campaign, "negative")[0], by="dan", now=NOW)
    again = draft_controls(campaign, encoder=ENCODER)
    assert (again.new, again.open) == (0, first.open - 1)


def test_confirmed_drafts_are_what_hits_are_packed_with(campaign: Campaign) -> None:
    draft_controls(campaign, encoder=ENCODER)
    own = confirmed(campaign)
    assert pack_hits(campaign).hits == 5
    items = campaign.hits.values_list("items__control", flat=True)
    assert {pk for pk in items if pk} <= {control.pk for control in own}


def test_a_draft_is_confirmed_in_better_words_for_its_query(campaign: Campaign) -> None:
    draft_controls(campaign, encoder=ENCODER)
    one = drafted(campaign, "positive")[0]
    control = confirm(one, "  What do bakers do? ", "Bake.", by="dan", now=NOW)
    assert (control.query, control.question) == (one.query.text, "What do bakers do?")
    assert (control.campaign, control.kind, control.drafted) == (campaign, "positive", True)
    one.refresh_from_db()
    assert (one.state, one.decided_by, one.control) == ("confirmed", "dan", control)


def test_a_draft_is_decided_once(campaign: Campaign) -> None:
    draft_controls(campaign, encoder=ENCODER)
    one, other = drafted(campaign, "negative")[:2]
    confirm(one, one.question, one.answer, by="dan", now=NOW)
    with pytest.raises(UserError, match="decided on this draft already"):
        dismiss(one, by="eve", now=NOW)
    with pytest.raises(UserError, match="its query and question are the same text"):
        confirm(other, other.query.text, "Ten.", by="dan", now=NOW)
    other.refresh_from_db()
    assert other.state == "open"


def test_the_same_texts_are_one_control(campaign: Campaign) -> None:
    draft_controls(campaign, encoder=ENCODER)
    one, other = [d for d in drafted(campaign, "negative") if d.query.key == "bread"][:2]
    confirm(one, "the same", "Ten.", by="dan", now=NOW)
    with pytest.raises(UserError, match="has a control of this query and question already"):
        confirm(other, "the same", "Ten.", by="dan", now=NOW)


def test_a_campaign_s_positive_is_replaced_within_the_campaign(campaign: Campaign) -> None:
    draft_controls(campaign, encoder=ENCODER)
    one = drafted(campaign, "positive")[0]
    old = confirm(one, one.question, one.answer, by="dan", now=NOW)
    new = replace(old, Texts(old.query, "bread: how is it made", "Bake."), now=NOW)
    assert (new.campaign, new.drafted, new.kind) == (campaign, True, "positive")


def test_its_controls_are_retired_freely_until_hits_are_packed_with_them(
    campaign: Campaign,
) -> None:
    draft_controls(campaign, encoder=ENCODER)
    first, *others = confirmed(campaign)
    retire(first, now=NOW)
    assert pack_hits(campaign).hits == 5
    positives = [control for control in others if control.kind == "positive"]
    for control in positives[3:]:
        retire(control, now=NOW)
    with pytest.raises(UserError, match="A HIT may need 3 positive controls"):
        retire(positives[0], now=NOW)


def test_before_candidates_are_retrieved_nothing_is_drafted(campaign: Campaign) -> None:
    campaign.query_set.retrieved_with = None
    campaign.query_set.save()
    with pytest.raises(UserError, match="not retrieved yet"):
        draft_controls(campaign, encoder=ENCODER)
