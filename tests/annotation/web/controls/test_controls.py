"""The control pool and a campaign's controls: how they are answered, and who changes them."""

from collections import Counter
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.analytics.quality import review_figures
from annotation.analytics.quality.control_accuracy import control_figures
from annotation.models import (
    Assignment,
    AuditEntry,
    Campaign,
    Control,
    ControlCandidate,
    Hit,
    HitItem,
    ReviewFigures,
)
from annotation.pipeline.controls.candidates import find_candidates
from annotation.protocol.labels.label_error import wilson_interval
from retrieval.models import QaPair
from tests.annotation.web.base.readers import plays, root, with_permission
from tests.exports.support.campaigns import make_campaign
from tests.support.pages import parse

pytestmark = pytest.mark.django_db

POOL = "/admin/controls/"
OPERATIONS = "/admin/operations/"
PAGE = "/admin/campaigns/demo/controls/"
OWN_OPERATIONS = "/admin/campaigns/demo/operations/"
TEXTS = {"query": "how old is ada", "question": "the age of ada", "answer": "Ten."}
HOSTILE = "<script>alert(1)</script>\"'{{ 7|add:7 }}"


@pytest.fixture
def campaign() -> Campaign:
    """One positive and one negative control, both in every HIT; eve, excluded, failed."""
    return make_campaign()


@pytest.fixture
def counted(campaign: Campaign) -> ReviewFigures:
    return review_figures.take(campaign)


@pytest.fixture
def editor() -> Client:
    return with_permission("change_control", "cleo")


def positive() -> Control:
    return Control.objects.get(kind="positive", key="demo", retired_at=None)


def negative() -> Control:
    return Control.objects.get(kind="negative", key="demo")


def many(count: int = 8) -> None:
    """Of each kind, so that one can be spared."""
    campaign = Campaign.objects.get(name="demo")
    for kind, of in (("positive", None), ("negative", campaign)):
        for number in range(count):
            texts = {"query": f"q{number}", "question": "u", "answer": "a"}
            Control.objects.create(kind=kind, campaign=of, key=f"k{number}", **texts)


def make_hits(campaign: Campaign, control: Control, count: int) -> None:
    """With this control alone."""
    instructions = campaign.instructions.get()
    hits = [
        Hit(
            campaign=campaign,
            instructions=instructions,
            key=f"{control.pk}-{number}",
            number=10_000 * control.pk + number,
            seed=1,
            max_assignments=1,
            price_cents=19,
        )
        for number in range(count)
    ]
    made = Hit.objects.bulk_create(hits)
    HitItem.objects.bulk_create(
        HitItem(hit=hit, position=1, key=hit.key, control=control) for hit in made
    )


def test_the_figures_are_those_counted_by_hand(campaign: Campaign) -> None:
    """24 works, two of eve's left out; a slip of bob's at either control is counted."""
    work = campaign.hits.get(number=0).assignments.get(worker__worker_id="bob")
    work.judgments.filter(item__control=positive()).update(value=0)
    work.judgments.filter(item__control=negative()).update(value=1)
    found = control_figures(campaign)
    for control in (positive(), negative()):
        assert found[control.kind] == {
            "controls": 1,
            "answered": 22,
            "right": 21,
            "worst": [[control.pk, 22, 21, 4]],
        }


def test_an_excluded_worker_s_answers_say_nothing_of_a_control(campaign: Campaign) -> None:
    campaign.exclusions.update(restored_at=timezone.now())
    found = control_figures(campaign)["positive"]
    assert (found["answered"], found["right"]) == (24, 23)


def test_the_pool_shows_rates_over_the_campaigns_that_the_reader_sees(
    counted: ReviewFigures,
) -> None:
    other = make_campaign(name="other")
    worst = [[positive().pk, 100, 50, 7]]
    figures = {"controls": {"positive": {"worst": worst}}}
    ReviewFigures.objects.create(campaign=other, at=timezone.now(), figures=figures)
    (line,) = [one for one in root().get(POOL).context["lines"] if one.control == positive()]
    assert (line.rate.answered, line.rate.right, line.rate.workers) == (122, 72, 11)
    assert line.rate.interval == wilson_interval(72, 122)
    assert line.doubtful
    assert (line.share, line.interval) == ("59.0%", "50.1% to 67.3%")
    lines = plays("viewer", counted.campaign).get(POOL).context["lines"]
    (line,) = [one for one in lines if one.control == positive()]
    assert (line.rate.answered, line.doubtful) == (22, False)


def test_it_says_how_often_one_worker_met_one_control_of_the_pool(campaign: Campaign) -> None:
    """Every HIT holds the same two; once it has controls of its own, those alone are counted."""
    done = Assignment.objects.filter(hit__campaign=campaign).values_list("worker", flat=True)
    review_figures.take(campaign)
    page = root().get(PAGE)
    assert page.context["exposure"]["most"] == max(Counter(done).values()) == 9
    assert "times one worker met the same control of the pool" in page.content.decode()
    Control.objects.create(kind="positive", campaign=campaign, key="own", drafted=True, **TEXTS)
    review_figures.take(campaign)
    page = root().get(PAGE)
    assert page.context["exposure"]["most"] == 0
    assert "of the pool" not in page.content.decode()


def test_the_worst_controls_come_first_and_the_unknown_ones_last(counted: ReviewFigures) -> None:
    many(2)
    bad, unknown = Control.objects.filter(campaign=None, key__in=["k0", "k1"]).order_by("key")
    counted.figures["controls"]["positive"]["worst"].append([bad.pk, 10, 5, 3])
    counted.save()
    lines = root().get(POOL).context["lines"]
    assert [one.control for one in lines] == [bad, positive(), unknown]


def test_the_pool_is_searched_by_words(campaign: Campaign) -> None:
    many(3)
    client = root()
    for words, keys in (("q1", ["k1"]), ("q U", ["k0", "k1", "k2"]), ("nothing", []), ("%", [])):
        lines = client.get(POOL, {"q": words}).context["lines"]
        assert [one.control.key for one in lines] == keys


def test_before_the_first_count_nothing_is_made_up(campaign: Campaign) -> None:
    page = root().get(PAGE).content.decode()
    assert "Nothing is counted yet" in page
    assert root().get(POOL).context["lines"][0].share == ""


def test_a_campaign_s_page_shows_both_kinds_with_their_totals(counted: ReviewFigures) -> None:
    context = plays("viewer", counted.campaign).get(PAGE).context
    for kind, control in (("positive", positive()), ("negative", negative())):
        assert context["totals"][kind].rate[1:3] == (22, 22)
        assert [line.control for line in context[f"{kind}s"]] == [control]
    assert list(context["all"].rows) == [negative()]


def test_a_positive_control_of_the_campaign_s_own_leads_to_its_page(campaign: Campaign) -> None:
    control = positive()
    Control.objects.filter(pk=control.pk).update(campaign=campaign, drafted=True, key="own")
    review_figures.take(campaign)
    page = parse(root().get(PAGE))
    [table] = page.xpath("//*[@aria-label='Positive controls, table']")
    own = f"/admin/campaigns/{campaign.name}/controls/{control.pk}"
    assert table.xpath(".//tbody//a/@href") == [own]


def test_other_words_make_a_new_control_and_retire_the_old_one(
    campaign: Campaign, editor: Client
) -> None:
    old = positive()
    page = editor.get(f"{POOL}{old.pk}").content.decode()
    assert f"{OPERATIONS}retire-control?control={old.pk}" in page
    assert f"{OPERATIONS}replace-control?control={old.pk}" in page
    form = editor.get(f"{OPERATIONS}replace-control?control={old.pk}").content.decode()
    assert "CONTROL</textarea>" in form
    sent = {**TEXTS, "control": old.pk, "agreed": "yes"}
    assert editor.post(f"{OPERATIONS}replace-control", sent)["Location"] == POOL
    old.refresh_from_db()
    assert (old.query, old.retired_at is None) == ("CONTROL", False)
    assert Control.objects.filter(query=TEXTS["query"], retired_at=None).exists()
    retired = root().get(POOL, {"show": "retired"}).context["lines"]
    assert [line.control for line in retired] == [old]
    assert OPERATIONS not in editor.get(f"{POOL}{old.pk}").content.decode()


def test_a_manager_changes_the_campaign_s_controls_but_not_the_pool(campaign: Campaign) -> None:
    many()
    manager = plays("manager", campaign)
    sent = {**TEXTS, "control": negative().pk, "agreed": "yes"}
    assert manager.post(f"{OWN_OPERATIONS}replace-control", sent)["Location"] == PAGE
    assert campaign.controls.filter(key="demo.1", query=TEXTS["query"]).exists()
    assert AuditEntry.objects.get().campaign == campaign
    for name in ("add", "replace", "retire"):
        assert manager.post(f"{OPERATIONS}{name}-control", TEXTS).status_code == 403
    assert manager.get(POOL).status_code == manager.get(f"{POOL}{positive().pk}").status_code == 200
    assert AuditEntry.objects.count() == 1


@pytest.mark.parametrize("role", ["viewer", "adjudicator"])
def test_viewers_look_and_change_nothing(campaign: Campaign, role: str) -> None:
    many()
    viewer = plays(role, campaign)
    for page in (f"{POOL}{positive().pk}", f"{PAGE}{negative().pk}"):
        response = viewer.get(page)
        assert response.status_code == 200
        assert "retire-control" not in response.content.decode()
    assert viewer.post(f"{PAGE[:-9]}control-candidates/").status_code == 403
    assert not Control.objects.exclude(retired_at=None).exists()
    assert not AuditEntry.objects.exists()


def test_one_campaign_does_not_reach_another_s_controls(campaign: Campaign) -> None:
    other = make_campaign(name="other")
    foreign = other.controls.get()
    owner = plays("owner", campaign)
    assert owner.get(f"{PAGE}{foreign.pk}").status_code == 404
    for number in (foreign.pk, "x", 10**30):
        form = owner.get(f"{OWN_OPERATIONS}replace-control?control={number}")
        assert (form.status_code, foreign.query in form.content.decode()) == (200, False)
    assert owner.get(f"{POOL}{foreign.pk}").status_code == 404
    # What holds a control of the pool elsewhere is not told, either.
    shared = root().get(f"{POOL}{positive().pk}").context["hits"]
    assert {hit.campaign for hit in shared} == {campaign}
    theirs = plays("viewer", other, "dan").get(f"{POOL}{positive().pk}")
    assert theirs.context["hits"] == []


def test_a_reader_of_a_small_campaign_sees_its_hits_with_a_much_used_control(
    campaign: Campaign,
) -> None:
    make_hits(campaign, positive(), 1200)
    small = make_campaign(name="small")
    last = small.hits.get(number=0)
    last.items.filter(control__kind="positive").update(control=positive())
    viewer = plays("viewer", small).get(f"{POOL}{positive().pk}")
    assert viewer.context["hits"] == [last]
    first = campaign.hits.order_by("items__pk").filter(items__control=positive())[:10]
    assert root().get(f"{POOL}{positive().pk}").context["hits"] == list(first)


def make_candidate(campaign: Campaign) -> ControlCandidate:
    triplet = campaign.triplets.get(candidate__query__key="moon", candidate__rank=1)
    return ControlCandidate.objects.create(triplet=triplet)


def decide(client: Client, operation: str, **texts: str) -> Any:
    sent = {**texts, "triplet": ControlCandidate.objects.get().triplet_id, "agreed": "yes"}
    return client.post(f"{OWN_OPERATIONS}{operation}", sent)


def test_a_control_candidate_is_confirmed_with_the_words_of_a_person(campaign: Campaign) -> None:
    found = make_candidate(campaign)
    QaPair.objects.update(license="CC0")
    client = root()
    link = f"{OWN_OPERATIONS}confirm-control?triplet={found.triplet_id}"
    assert link in client.get(PAGE).content.decode()
    assert "What about moon" in client.get(link).content.decode()
    sent = {**TEXTS, "triplet": found.triplet_id}
    preview = client.post(f"{OWN_OPERATIONS}confirm-control", sent).context["sentences"]
    assert preview[0] == "All 2 votes are Yes. The pair is from tests, under CC0."
    assert decide(client, "confirm-control", **TEXTS)["Location"] == PAGE
    control = Control.objects.get(query=TEXTS["query"])
    found.refresh_from_db()
    assert (found.state, found.control, found.decided_by) == ("confirmed", control, "root")
    entry = AuditEntry.objects.get()
    assert (entry.subject, entry.details) == (str(found.triplet_id), {**TEXTS, "new": control.pk})


def test_a_manager_dismisses_a_candidate_but_confirms_none(campaign: Campaign) -> None:
    make_candidate(campaign)
    manager = plays("manager", campaign)
    assert "confirm-control" not in manager.get(PAGE).content.decode()
    assert decide(manager, "confirm-control", **TEXTS).status_code == 403
    assert ControlCandidate.objects.get().state == "open"
    assert decide(manager, "dismiss-control").status_code == 302
    found = ControlCandidate.objects.get()
    assert (found.state, found.decided_by) == ("dismissed", "manager-of-demo")
    assert not Control.objects.filter(query=TEXTS["query"]).exists()


@pytest.mark.parametrize("role", ["viewer", "adjudicator"])
def test_whoever_may_not_change_controls_decides_nothing(campaign: Campaign, role: str) -> None:
    make_candidate(campaign)
    client = plays(role, campaign)
    assert decide(client, "dismiss-control").status_code == 403
    assert ControlCandidate.objects.get().state == "open"
    # What has only Yes votes is nothing for a blind expert.
    listed = [] if role == "adjudicator" else [ControlCandidate.objects.get()]
    assert client.get(PAGE).context["control_candidates"] == listed


def test_hostile_texts_stay_texts(campaign: Campaign, editor: Client) -> None:
    Control.objects.update(query=HOSTILE, question=HOSTILE + "?", answer=HOSTILE, key=HOSTILE[:60])
    triplet = make_candidate(campaign).triplet
    triplet.candidate.pair.license = triplet.candidate.pair.question = HOSTILE
    triplet.candidate.pair.save()
    client = root()
    kinds = Control.objects.order_by("kind")
    own, shared = kinds[0].pk, kinds[1].pk
    pages = [POOL, f"{POOL}?q={HOSTILE}", f"{POOL}{shared}", PAGE, f"{PAGE}{own}"]
    confirm = f"{OWN_OPERATIONS}confirm-control?triplet={triplet.pk}"
    preview = f"{confirm}&query=a&question=b&answer=c"
    replace = f"{OWN_OPERATIONS}replace-control?control={own}"
    for page in [*pages, confirm, preview, replace]:
        response = client.get(page)
        assert response.status_code == 200
        assert "<script>alert" not in response.content.decode()


@pytest.mark.parametrize("page", [POOL, PAGE])
def test_the_pages_take_few_queries(
    counted: ReviewFigures, page: str, django_assert_max_num_queries: Any
) -> None:
    many()
    find_candidates(counted.campaign)
    client = plays("manager", counted.campaign)
    with django_assert_max_num_queries(20):
        client.get(page)
