"""The page of drafts: one at a time, decided by a key's button, with nothing used before."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.analytics.quality import review_figures
from annotation.models import AuditEntry, Campaign, ControlDraft
from retrieval.models import Job
from tests.annotation.api.people import person
from tests.annotation.support.hits import make_campaign, make_hit
from tests.annotation.web.base.readers import at
from tests.support.pages import parse, text_of

pytestmark = pytest.mark.django_db

PAGE = "/admin/campaigns/demo/control-drafts"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def campaign() -> Campaign:
    campaign = make_campaign("demo")
    make_hit(campaign)
    return campaign


@pytest.fixture
def owner(campaign: Campaign) -> Client:
    return at(person("owner", campaign, "owner"))


def draft(
    campaign: Campaign, kind: str = "positive", question: str = "in other words"
) -> ControlDraft:
    query = campaign.query_set.queries.earliest("pk")
    return campaign.control_drafts.create(
        kind=kind, origin="rewording", query=query, question=question, answer="Ten."
    )


def send(client: Client, one: ControlDraft, decision: str, **texts: str) -> int:
    sent = {"draft": one.pk, "question": one.question, "answer": one.answer, decision: "yes"}
    return client.post(PAGE, sent | texts).status_code


def test_it_asks_for_one_draft_after_the_other(campaign: Campaign, owner: Client) -> None:
    first, second = draft(campaign), draft(campaign, "negative", "something else")
    assert "is the answer clearly Yes?" in text_of(owner.get(PAGE))
    assert send(owner, first, "confirm") == 302
    assert "is the answer clearly No?" in text_of(owner.get(PAGE))
    assert send(owner, second, "dismiss") == 302
    page = text_of(owner.get(PAGE))
    assert "No draft is waiting" in page
    assert "0 waiting, 1 confirmed, 1 dismissed" in page


def test_drafts_for_one_query_do_not_follow_one_another(campaign: Campaign, owner: Client) -> None:
    first, other = campaign.query_set.queries.order_by("pk")[:2]
    drafts = [
        campaign.control_drafts.create(
            kind="positive", origin="rewording", query=query, question=question, answer="Ten."
        )
        for query, question in ((first, "a"), (first, "b"), (first, "c"), (other, "d"))
    ]
    met = []
    for _ in drafts:
        one = owner.get(PAGE).context["draft"]
        met.append(one.question)
        send(owner, one, "confirm")
    assert met == ["a", "d", "b", "c"]


def test_it_says_how_many_are_enough_and_leads_back_to_packing(
    campaign: Campaign, owner: Client
) -> None:
    hits = -(-campaign.query_set.queries.count() * campaign.policy.candidates_per_query // 5)
    wanted = -(-hits // 5)  # each is shown by five at most
    sentence = f"Packing needs {wanted} positive and {wanted} negative controls."
    assert sentence in text_of(owner.get(PAGE))
    for number in range(wanted):
        send(owner, draft(campaign, question=f"yes {number}"), "confirm")
        send(owner, draft(campaign, "negative", f"no {number}"), "confirm")
    page = owner.get(PAGE)
    assert "enough to pack its tasks. Go to packing" in text_of(page).replace("HITs", "tasks")


def test_each_button_has_its_key_and_edit_leads_to_the_words(
    campaign: Campaign, owner: Client
) -> None:
    draft(campaign)
    page = parse(owner.get(PAGE))
    keys = {one.get("data-key"): one for one in page.xpath("//*[@data-key]")}
    assert list(keys) == ["y", "n", "e"]
    [field] = page.xpath(f"//*[@id='{keys['e'].get('for')}']")
    assert field.get("name") == "question"


def test_a_confirmed_draft_is_a_control_in_the_words_of_a_person_and_logged(
    campaign: Campaign, owner: Client
) -> None:
    one = draft(campaign)
    send(owner, one, "confirm", question="better words")
    control = campaign.controls.get(drafted=True)
    assert (control.query, control.question) == (one.query.text, "better words")
    entry = AuditEntry.objects.latest("pk")
    assert (entry.verb, entry.subject, entry.actor) == ("confirm-draft", str(one.pk), "owner")


def test_a_fault_keeps_the_draft_and_what_was_typed(campaign: Campaign, owner: Client) -> None:
    draft(campaign)
    other = draft(campaign, question="second")
    assert send(owner, other, "confirm", question=other.query.text) == 422
    answer = owner.post(
        PAGE, {"draft": other.pk, "question": other.query.text, "answer": "a", "confirm": "yes"}
    )
    assert "its query and question are the same text" in text_of(answer)
    [field] = parse(answer).xpath("//textarea[@name='question']")
    assert field.text.strip() == other.query.text
    assert not campaign.controls.filter(drafted=True).exists()


def test_a_draft_is_dismissed_whatever_its_fields_hold(campaign: Campaign, owner: Client) -> None:
    assert send(owner, draft(campaign), "dismiss", question="", answer="") == 302
    assert ControlDraft.objects.get().state == "dismissed"


def test_drafts_are_requested_as_a_job(campaign: Campaign, owner: Client) -> None:
    assert owner.post(PAGE, {"find": "yes"}).status_code == 302
    assert Job.objects.get().kind == "draft-controls"
    assert owner.post(PAGE, {"find": "yes"}).status_code in (302, 422)
    assert Job.objects.count() == 1


def test_somebody_who_may_not_change_controls_is_refused(campaign: Campaign) -> None:
    viewer, one = at(person("viewer", campaign, "viewer")), draft(campaign)
    assert viewer.get(PAGE).status_code == 403
    assert send(viewer, one, "confirm") == 403
    assert ControlDraft.objects.get().state == "open"


def test_hostile_texts_stay_texts(campaign: Campaign, owner: Client) -> None:
    draft(campaign, question=HOSTILE)
    assert HOSTILE not in owner.get(PAGE).content.decode()


def test_the_campaign_s_controls_show_who_has_met_how_many(
    campaign: Campaign, owner: Client
) -> None:
    page = "/admin/campaigns/demo/controls/"
    assert "HITs contain the general pool and random pairs" in text_of(owner.get(page))
    send(owner, draft(campaign), "confirm")
    draft(campaign, question="waits")
    review_figures.take(campaign)
    shown = text_of(owner.get(page))
    assert "Decide on 1 draft" in shown
    assert "times one worker met the same control" in shown


def test_drafts_come_by_a_file_and_the_log_keeps_its_name(
    campaign: Campaign, owner: Client
) -> None:
    query = campaign.query_set.queries.earliest("pk").text
    good = f"kind,query,question,answer\npositive,{query},put in other words,Ten.\n"
    refused, taken = (
        owner.post(PAGE, {"file": SimpleUploadedFile("own.csv", text.encode()), "import": "yes"})
        for text in (good.replace("positive", "maybe"), good)
    )
    assert (refused.status_code, taken.status_code) == (422, 302)
    assert "Line 2 of own.csv: the kind is" in text_of(refused)
    assert "Rejected rows" in text_of(refused)
    page = text_of(owner.get(PAGE))
    assert "1 draft added." in page
    assert "put in other words" in page
    entry = AuditEntry.objects.get(verb="import-drafts")
    assert (entry.details["file"], entry.details["added"]) == ("own.csv", 1)
