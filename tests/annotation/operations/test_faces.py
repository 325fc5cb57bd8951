"""Each operation by its page, its API call and its command: the same thing each time."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.access.audit_log import by_command
from annotation.access.roles import (
    CHANGE_CONTROLS,
    CREATE,
    FUND,
    GRANT,
    MANAGE_WORKERS,
    PERMISSIONS,
    RUN,
    VIEW,
)  # fmt: skip
from annotation.api.campaigns.operations import DATABASE_VIEWS, LONG_VIEWS, VIEWS
from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.models import HitType, PanelLink, Participant, Queue
from annotation.crowd.prolific.models import Study
from annotation.crowd.turk.accounts import create_account
from annotation.crowd.turk.models import AccountDeposit, Payout
from annotation.jobs.handlers import HANDLERS
from annotation.models import (
    AuditEntry,
    Campaign,
    Control,
    ControlCandidate,
    ControlDraft,
    PastRecord,
    Worker,
)
from annotation.operations.campaign import pool_depth, steps
from annotation.operations.history import FORGET
from annotation.operations.operation import (
    Argument,
    LongOperation,
    Operation,
    Options,
    Result,
    perform,
)
from annotation.operations.registry import DATABASE_OPERATIONS, LONG_OPERATIONS, OPERATIONS
from annotation.operations.turk import DEPOSIT, PAY_OUT
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.controls.drafts import draft_controls
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.setup.pool_depth import create_depth_study
from annotation.protocol.policy.crowds import PANEL, PROLIFIC
from annotation.web.campaigns.operation import OperationForm
from config.commands import load
from retrieval.jobs import queue
from retrieval.models import Candidate, CorpusSource, Job, QaPair, Query, QuerySet
from retrieval.web.access import BUILD, WITHDRAW
from tests.annotation.api.people import ROLES, Program, person
from tests.annotation.crowd.turk.earner import Earner, give_money
from tests.annotation.simulation.test_dry_run import made_up
from tests.annotation.web.base.readers import at
from tests.conftest import SetStage
from tests.support.command_line import quorum
from tests.worlds.small_campaign import ENCODER, Stage

pytestmark = pytest.mark.django_db

Given = Mapping[str, Any]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()


ALL = [*OPERATIONS.values(), *DATABASE_OPERATIONS.values()]


@dataclass(frozen=True)
class Case:
    """What is asked for in a world at work, and what is impossible there.

    ADA has judged HIT 1 well and EVE has not; what BOB did is not decided at the crowd yet.
    """

    given: Given
    impossible: Given | None  # None: nothing is
    after: tuple[tuple[str, Given], ...] = ()  # operations before
    impossible_after: tuple[tuple[str, Given], ...] = ()
    policy: Given | None = None
    is_published: bool = True


CANCEL, PAUSE = ("cancel", {}), ("pause", {})
ADA, NOBODY = {"worker": "AADA"}, {"worker": "ANOBODY"}
REASON = {"reason": "Enough."}
BONUS = {"assignment": "{ada}", "amount": "0.50", "reason": "Thank you."}
LAST_OWNER = {"username": "owner"}
TEXTS = {"query": "how old is Ada", "question": "the age of Ada", "answer": "Ten."}
OWN_CONTROL, POOL_CONTROL = {"control": "{own control}"}, {"control": "{pool control}"}
CANDIDATE, DISMISSED = {"triplet": "{candidate}"}, ("dismiss-control", {"triplet": "{candidate}"})
PILOT = {"pilot": "answers", "triplets": 4, "seed": 1, "budget": "20"}
DRAFT, NO_DRAFT = {"draft": "{draft}"}, ("dismiss-draft", {"draft": "{draft}"})
GIVEN = {
    "kind": "positive", "query": "How is bread made?", "question": "how does one bake a loaf",
}  # fmt: skip
OTHER = {"question": "the age of Ada", "answer": "Ten."}
PANEL_LINK, NO_LINK = {"link": "{link}"}, {"link": "0" * 32}
CONNECT = {"panel": "connect", "tasks": 5, "note": "autumn"}
TEAM = {"crowd": "inhouse", "ids": ["bread"], "seed": 1, "reward_cents": 5, "budget": "20"}
CASES = {
    "open-panel": Case(CONNECT, CONNECT | {"code": "a b"}, policy=PANEL.defaults()),
    "close-panel": Case(PANEL_LINK, NO_LINK, policy=PANEL.defaults()),
    "request-returns": Case(PANEL_LINK | REASON, NO_LINK | REASON, policy=PROLIFIC.defaults()),
    "forget-participant": Case({"worker": "{participant}"}, NOBODY, policy=PANEL.defaults()),
    "budget": Case({"amount": "9000"}, {"amount": "0.01"}),
    "pause": Case({}, {}, impossible_after=(PAUSE,)),
    "resume": Case({}, {}, after=(PAUSE,)),
    "expire": Case({}, {}, impossible_after=(CANCEL,)),
    "extend": Case({"days": 7}, {"days": 7}, impossible_after=(PAUSE,)),
    "cancel": Case({}, {}, impossible_after=(CANCEL,)),
    "retry": Case({}, None),
    "exclude": Case(ADA | REASON, NOBODY | REASON),
    "restore": Case(ADA, NOBODY, after=(("exclude", ADA | REASON),)),
    "message": Case(ADA | {"text": "Thank you."}, NOBODY | {"text": "Thank you."}),
    "grant-qualification": Case(ADA, {"worker": "A\tB"}, policy={"qualification_items": 4}),
    "approve": Case({"assignment": "{eve}"}, {"assignment": "3NONE"}),
    "reject": Case({"assignment": "{bob}"} | REASON, {"assignment": "{ada}"} | REASON),
    "bonus": Case(BONUS, BONUS | {"amount": "9999"}),  # more than the budget has left
    "cancel-bonus": Case(BONUS, BONUS | {"amount": "0.51"}, after=(("bonus", BONUS),)),
    "give-role": Case({"username": "viewer", "role": "manager"}, LAST_OWNER | {"role": "viewer"}),
    "take-role": Case({"username": "viewer"}, LAST_OWNER),
    "replace-control": Case(OWN_CONTROL | TEXTS, POOL_CONTROL | TEXTS),
    "retire-control": Case(OWN_CONTROL, POOL_CONTROL),
    "confirm-control": Case(CANDIDATE | TEXTS, CANDIDATE | TEXTS, impossible_after=(DISMISSED,)),
    "dismiss-control": Case(CANDIDATE, {"triplet": 1_000_000}),
    "pilot": Case(PILOT, PILOT | {"triplets": 26}),  # of 25 candidates
    "add-draft": Case(GIVEN, GIVEN | {"query": "none of its queries"}),
    "confirm-draft": Case(DRAFT | OTHER, DRAFT | OTHER, impossible_after=(NO_DRAFT,)),
    "dismiss-draft": Case(DRAFT, {"draft": 1_000_000}),
    "second-crowd": Case(TEAM, TEAM | {"crowd": "mturk"}, is_published=False),
}


COFFEE = {"name": "coffee", "sources": ["faq"]}
CREATED = ("create-corpus", COFFEE)
OF_COFFEE = {"corpus": "coffee", "source": "faq"}
PAIR = {"pairs": ["{pair}"], "reason": "Asked for."}
ADD_CONTROL = ("add-control", TEXTS)
OF_LAB = {"requester": "lab"}
DATABASE_CASES = {
    "create-corpus": Case(COFFEE, COFFEE | {"name": "all"}),
    "add-source": Case(
        OF_COFFEE,
        OF_COFFEE,
        after=(("create-corpus", COFFEE | {"sources": []}),),
        impossible_after=(CREATED,),
    ),
    "remove-source": Case(
        OF_COFFEE,
        OF_COFFEE,
        after=(CREATED,),
        impossible_after=(("create-corpus", COFFEE | {"sources": []}),),
    ),
    # One with a campaign stays: tests/retrieval/corpus/test_corpora.py.
    "remove-corpus": Case({"corpus": "coffee"}, None, after=(CREATED,)),
    "withdraw-pairs": Case(PAIR, PAIR | {"pairs": ["999999"]}),
    "add-control": Case(TEXTS, TEXTS | {"question": TEXTS["query"]}),
    "replace-control": Case(
        POOL_CONTROL | TEXTS, POOL_CONTROL | TEXTS, impossible_after=(ADD_CONTROL,)
    ),
    "retire-control": Case(POOL_CONTROL, OWN_CONTROL, after=(ADD_CONTROL,)),
    "restore-pairs": Case({"source": "faq"}, {"source": "faq"} | PAIR),
    "forget-history": Case({"worker": "APAST"}, NOBODY),
    "turk-deposit": Case(OF_LAB | {"amount": "12.50"}, OF_LAB | {"amount": "0"}),
    "turk-pay-out": Case(OF_LAB, {"requester": "nobody"}),
}


PERMISSIONS_OF = {
    FUND: {"budget", "cancel"},
    MANAGE_WORKERS: {
        "exclude", "restore", "message", "grant-qualification", "approve", "reject", "bonus",
        "cancel-bonus", "open-panel", "close-panel", "request-returns", "forget-participant",
    },
    RUN: {
        "pause", "resume", "expire", "extend", "retry", "retrieve", "pack", "publish", "collect",
        "reconcile", "dry-run",
    },
    CHANGE_CONTROLS: {
        "control-candidates", "add-control", "replace-control", "retire-control",
        "confirm-control", "dismiss-control", "draft-controls", "add-draft", "confirm-draft",
        "dismiss-draft",
    },
    GRANT: {"give-role", "take-role"},
    VIEW: {"snapshot"},
    CREATE: {"pilot", "pool-depth", "second-crowd"},
    BUILD: {"create-corpus", "add-source", "remove-source", "remove-corpus"},
    WITHDRAW: {"withdraw-pairs", "restore-pairs"},
    FORGET: {"forget-history"},
    DEPOSIT: {"turk-deposit"},
    PAY_OUT: {"turk-pay-out"},
}  # fmt: skip


@dataclass
class World:
    stage: Stage
    clients: dict[str, Client]
    programs: dict[str, Program]
    known: dict[str, Any]  # what a case names in braces

    @property
    def campaign(self) -> Campaign:
        return self.stage.campaign

    def filled(self, given: Given) -> dict[str, Any]:
        return {name: self._filled(value) for name, value in given.items()}

    def _filled(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._filled(one) for one in value]
        return self.known[value[1:-1]] if str(value).startswith("{") else value


def world_of(stage: Stage, *, works: bool = True) -> World:
    people = {role: person(role, stage.campaign, role) for role in ROLES}
    for permission in (
        BUILD,
        CHANGE_CONTROLS,
        CREATE,
        WITHDRAW,
        FORGET,
        DEPOSIT,
        PAY_OUT,
    ):  # of the database, which no role gives
        codename = permission.partition(".")[2]
        people["owner"].user_permissions.add(Permission.objects.get(codename=codename))
    known: dict[str, Any] = {
        "pair": str(QaPair.objects.earliest("pk").pk),
        "pool control": Control.objects.filter(campaign=None).earliest("pk").pk,
        "draft": draft_in(stage.campaign).pk,
        "own control": stage.campaign.controls.earliest("pk").pk,
    }
    lab = create_account("lab")
    give_money(lab, 100)
    Earner(lab).earn("AADA", "0.20")
    past = Worker.objects.create(crowd="mturk", worker_id="APAST")
    PastRecord.objects.create(crowd="mturk", kind="worker", key="APAST", worker=past)
    stage.mturk.person("ada")
    if works:
        known |= {"ada": stage.work("ada", 1), "eve": stage.work("eve", 1, slips=1)}
        stage.advance()
        known["bob"] = stage.work("bob", 2)
        fetch_submissions(stage.campaign, stage.mturk.crowd)
        review(stage.campaign)
        known["candidate"] = candidate_in(stage.campaign)
    known |= panel_of(stage.campaign)
    clients = {role: at(user) for role, user in people.items()}
    programs = {role: Program(user) for role, user in people.items()}
    return World(stage, clients, programs, known)


def panel_of(campaign: Campaign) -> dict[str, str]:
    """A link of the campaign, if people come by links, and who has come by it."""
    crowd = campaign.policy.crowd_traits
    if not crowd.by_link:
        return {"link": "0" * 32, "participant": "ANOBODY"}
    queue = Queue.objects.create(
        crowd=crowd.kind, digest="1", title="Judge", reward_cents=15, assignment_seconds=60
    )
    HitType.objects.create(digest="1", queue=queue, type_id=campaign.hit_type_id)
    now = timezone.now()
    panel = "prolific" if crowd.by_study else "connect"
    link = visits.open_link(campaign.hit_type_id, panel, tasks=1, now=now)
    if crowd.by_study:
        Study.objects.create(link=link, minutes=1, strays=1)
    visit = visits.arrive(link, visits.Person("P7"), now=now)
    return {"link": link.key, "participant": visit.member.worker_id}


def candidate_in(campaign: Campaign) -> int:
    """A triplet that nobody works on here."""
    triplet = campaign.triplets.latest("pk")
    campaign.triplets.filter(pk=triplet.pk).update(
        status="labelled", label=1, votes=3, positive_votes=3
    )
    return ControlCandidate.objects.create(triplet=triplet).triplet_id


def draft_in(campaign: Campaign) -> ControlDraft:
    query = campaign.query_set.queries.earliest("pk")
    return campaign.control_drafts.create(
        kind="positive", origin="rewording", query=query, question="a draft", answer="Ten."
    )


def path_of(operation: Operation) -> str:
    of = "campaigns/faq/" if operation.noun == "campaign" else ""
    return f"{of}operations/{operation.name}"


def case_of(operation: Operation) -> Case:
    return (CASES if operation.noun == "campaign" else DATABASE_CASES)[operation.name]


def by_page(world: World, operation: Operation, given: Given, role: str = "owner") -> str:
    """What is said against it; nothing where it is done. The same for the other faces."""
    sent = {**given, "agreed": "yes", "typed": "faq"}
    answer = world.clients[role].post(f"/admin/{path_of(operation)}", sent)
    return "" if answer.status_code == 302 else str(answer.context["fault"])


def by_call(world: World, operation: Operation, given: Given, role: str = "owner") -> str:
    """Sent twice with its key, as after an answer that got lost: it is done once."""
    sent = {**given, "agreed": True}
    for _ in range(2):
        answer = world.programs[role].post(path_of(operation), sent, key="one")
    return "" if answer.status_code == 200 else str(answer.json()["detail"])


def by_command_line(world: World, operation: Operation, given: Given) -> str:
    arguments = [one for one in operation.arguments if given.get(one.name)]
    words = [word for one in arguments for word in words_of(one, given[one.name])]
    of = ["faq"] if operation.noun == "campaign" else []
    verb = operation.verb or operation.name
    try:
        quorum(operation.noun, verb, *of, *words, *(["--yes"] if operation.confirms else []))
    except CommandError as error:
        return str(error)
    return ""


def words_of(argument: Argument, value: object) -> list[str]:
    if isinstance(value, list):
        return [word for one in value for word in (f"--{argument.name.removesuffix('s')}", one)]
    is_option = argument.optional or argument.kind in ("count", "text")
    option = f"--{argument.name.replace('_', '-')}"
    return [option, str(value)] if is_option else [str(value)]


# The command comes last: it alone speaks with the crowd at once, which nothing takes back.
FACES = (by_page, by_call, by_command_line)


def state_of(campaign: Campaign) -> tuple[Any, ...]:
    campaign = Campaign.objects.get(pk=campaign.pk)
    return (
        (campaign.state, account_of(campaign).budget_cents),
        sorted(campaign.exclusions.values_list("worker__worker_id")),
        sorted(campaign.outbox.values_list("kind", "reason")),
        campaign.qualification_results.count(),
        sorted(campaign.roles.values_list("user__username", "name")),
        sorted(CorpusSource.objects.values_list("corpus__name", "source")),
        QaPair.objects.filter(withdrawn_at=None).count(),
        sorted(Control.objects.filter(retired_at=None).values_list("query")),
        sorted(account_of(condition).budget_cents for condition in Campaign.objects.all()),
        sorted(Query.objects.values_list("query_set__name", "key", "position")),
        sorted(ControlCandidate.objects.values_list("state")),
        sorted(ControlDraft.objects.values_list("state")),
        sorted(PanelLink.objects.values_list("panel", "closed_at__year")),
        list(Study.objects.values_list("return_reason")),
        Participant.objects.count(),
        sorted(AccountDeposit.objects.values_list("cents")),
        sorted(Payout.objects.values_list("number", "cents")),
        PastRecord.objects.count(),
    )


def rows_of(campaign: Campaign) -> tuple[Any, ...]:
    """To the cent and the last column, for what may change nothing."""
    return (
        state_of(campaign),
        account_of(campaign).reserved_cents,
        list(campaign.outbox.order_by("pk").values()),
        list(campaign.hits.order_by("pk").values()),
        AuditEntry.objects.count(),
    )


def came_of(
    world: World, face: Callable[..., str], operation: Operation, given: Given
) -> tuple[tuple[Any, ...], list[tuple[str, str, str | None]]]:
    """What is said, logged and otherwise than before, and by whom; then all is undone."""
    before = AuditEntry.objects.count()
    with transaction.atomic():
        said = face(world, operation, world.filled(given))
        entries = AuditEntry.objects.order_by("pk")
        rows = entries.values_list("verb", "subject", "details")[before:]
        own = {"new": None, "link": None, "url": None}  # each face makes its own
        log = [(verb, to, details | own) for verb, to, details in rows]
        by = list(entries.values_list("via", "actor", "user__username")[before:])
        report = (said, log, state_of(world.campaign))
        transaction.set_rollback(True)
    return report, by


@pytest.mark.parametrize("operation", ALL, ids=path_of)
def test_the_faces_do_refuse_and_log_the_same(set_stage: SetStage, operation: Operation) -> None:
    case = case_of(operation)
    place = OPERATIONS if operation.noun == "campaign" else DATABASE_OPERATIONS
    stage = set_stage(**(case.policy or {}))
    if case.is_published:
        stage.publish()
    world = world_of(stage, works=case.policy is None and case.is_published)
    for first, given, is_refused in (
        (case.impossible_after, case.impossible, True),
        (case.after, case.given, False),
    ):
        if given is None:
            continue
        with transaction.atomic():
            for name, options in first:
                campaign = world.campaign if place is OPERATIONS else None
                perform(place[name], campaign, world.filled(options), by=by_command())
                world.campaign.refresh_from_db()
            world.campaign.outbox.filter(kind="bonus").update(state="failed", error="no")
            came = [came_of(world, face, operation, given) for face in FACES]
            transaction.set_rollback(True)
        (page, *_), (call, *_), (command, *_) = came
        assert page == call == command
        owner, shell = ("owner", "owner"), (by_command().name, None)
        by = [[("page", *owner)], [("api", *owner)], [("command", *shell)]]
        assert [who for _, who in came] == ([[], [], []] if is_refused else by)
        said, log, *_ = page
        assert bool(said) == is_refused
        assert [verb for verb, _, _ in log] == ([] if is_refused else [operation.name])
        world.campaign.refresh_from_db()


@pytest.mark.parametrize("operation", [*ALL, *LONG_OPERATIONS.values()], ids=lambda one: one.name)
def test_the_faces_take_the_same_arguments(operation: Operation | LongOperation) -> None:
    name, noun = operation.name, getattr(operation, "noun", "campaign")
    names = {argument.name for argument in operation.arguments}
    view = ((VIEWS | LONG_VIEWS) if noun == "campaign" else DATABASE_VIEWS)[name]
    assert view.sent().fields.keys() - {"agreed"} == names  # type: ignore[attr-defined]
    verb = getattr(operation, "verb", "") or name
    taken = {one.name for one in load(noun).commands[verb].params}
    further = {one.name for one in getattr(operation, "command_arguments", ())}
    further |= {"live"} if name == "reconcile" else set()
    assert taken - {"name", "yes", "json", "quiet", "help"} == (names | further) - {"name"}
    assert OperationForm(operation).fields.keys() == names


@pytest.mark.parametrize("face", FACES)
def test_a_choice_is_one_of_those_there_are(stage: Stage, face: Callable[..., object]) -> None:
    world = world_of(stage, works=False)
    before = rows_of(world.campaign)
    face(world, OPERATIONS["give-role"], {"username": "viewer", "role": "king"})
    assert rows_of(world.campaign) == before


def test_permissions_are_these() -> None:
    known = [*ALL, *LONG_OPERATIONS.values()]
    found = {one: {each.name for each in known if each.permission == one} for one in PERMISSIONS_OF}
    assert found == PERMISSIONS_OF
    assert set().union(*found.values()) == {each.name for each in known}


def test_the_faces_ask_for_the_same_permission(stage: Stage) -> None:
    assert CASES.keys() == OPERATIONS.keys()
    assert DATABASE_CASES.keys() == DATABASE_OPERATIONS.keys()
    assert LONG.keys() == LONG_OPERATIONS.keys()
    stage.publish()
    world = world_of(stage)
    before = rows_of(world.campaign)
    by_roles = [one for one in OPERATIONS.values() if not one.everywhere]
    may = {role: [one for one in by_roles if one.permission in PERMISSIONS[role]] for role in ROLES}
    assert len(by_roles) == len(may["owner"]) > len(may["manager"]) > len(may["viewer"]) == 0
    may["owner"] = ALL  # whose account has the other permissions
    for role in ROLES:
        for operation in ALL:
            sent = world.filled(case_of(operation).given) | {"agreed": False}
            page = world.clients[role].get(f"/admin/{path_of(operation)}")
            call = world.programs[role].post(path_of(operation), sent)
            refusals = [answer.status_code == 403 for answer in (page, call)]
            assert refusals == [operation not in may[role]] * 2, (role, operation.name)
            said = [] if refusals[1] else call.json().get("sentences") or [call.json()["detail"]]
            assert all(sentence.endswith(".") for sentence in said), operation.name
    # To preview changes nothing.
    assert rows_of(world.campaign) == before


def test_what_cannot_be_logged_is_not_done(stage: Stage) -> None:
    def pause(campaign: Campaign, options: Options) -> Result:
        Campaign.objects.update(state="paused")
        return {"unwritable": object()}

    unlogged = replace(OPERATIONS["pause"], execute=pause)
    with pytest.raises(TypeError):
        perform(unlogged, stage.campaign, {}, by=by_command())
    assert Campaign.objects.get().state == "active"


# Long operations


@dataclass(frozen=True)
class Asked:
    """A page's address and form, the API's fields, a command."""

    page: str
    form: Given
    sent: Given
    command: Sequence[str] = ()


DRY_RUN = LONG_OPERATIONS["dry-run"].complete({"queries": 3})
PERCENT = {
    name: value * 100 if isinstance(value, float) else value for name, value in DRY_RUN.items()
}
LONG = {
    "retrieve": Asked(
        "milestones", {"step": "retrieve", "retrievers": "dense"}, {"retrievers": ["dense"]}
    ),
    "pack": Asked("milestones", {"step": "pack"}, {}),
    "publish": Asked(
        "publish?first=2",
        {"endpoint": "{endpoint}"},
        {"first": 2, "agreed": True},
        ["--first", "2"],
    ),
    "collect": Asked("", {}, {}),
    "reconcile": Asked("reconcile", {"full": "yes"}, {"full": True}, ["--full"]),
    "snapshot": Asked("", {}, {}),
    "control-candidates": Asked("control-candidates/", {}, {}),
    "draft-controls": Asked("control-drafts", {"find": "yes"}, {}),
    "dry-run": Asked("dry-run", PERCENT, DRY_RUN, ["--queries=3"]),
    "pool-depth": Asked(
        "operations/pool-depth",
        {"queries": 2, "to": 6, "seed": 0, "agreed": "yes"},
        {"queries": 2, "to": 6, "agreed": True},
        ["--queries=2", "--to=6"],
    ),
}
# What has to be undone before a page offers the step.
UNDONE = ("retrieve", "pack")
AT_WORK = ("collect", "reconcile")


def undo(campaign: Campaign, step: str) -> None:
    campaign.hits.all().delete()
    campaign.triplets.all().delete()
    if step == "retrieve":
        Candidate.objects.all().delete()
        QuerySet.objects.update(retrieved_with=None)


@pytest.mark.parametrize("name", LONG)
def test_long_ones_are_asked_for_with_the_same_words(stage: Stage, name: str) -> None:
    if name in AT_WORK:
        stage.publish()
    if name in UNDONE:
        undo(stage.campaign, name)
    world, asked = world_of(stage, works=False), LONG[name]
    report = []
    form = {name: str(value).format(endpoint=stage.mturk.url) for name, value in asked.form.items()}
    for ask in (
        lambda role: world.clients[role].post(f"/admin/campaigns/faq/{asked.page}", form),
        lambda role: world.programs[role].post(f"campaigns/faq/jobs/{name}", asked.sent, key="x"),
    ):
        for role in ROLES:
            with transaction.atomic():
                answer = ask(role)
                job = Job.objects.first()
                log = AuditEntry.objects.values_list("verb", "details")
                details = [(verb, {**given, "job": ""}) for verb, given in log]
                is_refused = answer.status_code == 403
                report.append((role, is_refused, job and (job.kind, job.arguments), details))
                transaction.set_rollback(True)
    page, call = report[: len(ROLES)], report[len(ROLES) :]
    operation = LONG_OPERATIONS[name]
    for role, is_refused, job, details in call:
        may = operation.permission in PERMISSIONS[role]
        assert is_refused != (may or (operation.permission, role) == (CREATE, "owner"))
        assert (job is None) == is_refused
        assert [verb for verb, _ in details] == [name] * (operation.logged and not is_refused)
    if asked.page:
        assert page == call


@pytest.mark.parametrize("name", LONG)
def test_a_worker_and_a_command_run_the_same(
    stage: Stage, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job's result is what the command prints of it, and the log names the same operation."""
    monkeypatch.setattr(
        "annotation.operations.campaign.dry_run.dry_run", lambda *_, **__: made_up()
    )
    monkeypatch.setattr(
        pool_depth, "create_depth_study", partial(create_depth_study, encoder=ENCODER)
    )
    monkeypatch.setattr(steps, "draft_controls", partial(draft_controls, encoder=ENCODER))
    operation, asked = LONG_OPERATIONS[name], LONG[name]
    if name in AT_WORK:
        stage.publish()
    arguments = operation.order(stage.campaign, operation.complete(asked.sent)).arguments
    with transaction.atomic():
        queued = queue.request(name, "faq", arguments, by=User.objects.create_user("owner"))
        job = queue.run(queued.pk, "here", HANDLERS)
        assert job
        assert (job.state, job.error) == ("done", "")
        report = operation.report(stage.campaign, job.result)
        transaction.set_rollback(True)
    out = StringIO()
    quorum("campaign", name, "faq", *asked.command, "--json", stdout=out)
    printed = json.loads(out.getvalue())
    if name == "reconcile":
        compared = printed["campaigns"]["faq"]
        assert (report["hits_compared"], report["mended"]) == (compared["hits"], compared["done"])
    elif name != "snapshot":  # which takes another time
        assert printed == {"campaign": "faq", **json.loads(json.dumps(report))}
    logged = [name] * (operation.logged and not printed.get("already"))
    log = AuditEntry.objects.values_list("verb", "via")
    assert list(log) == [(verb, "command") for verb in logged if verb != "retrieve"]


@pytest.mark.parametrize("name", ["collect", "reconcile"])
def test_what_is_not_published_is_refused_in_the_same_words(stage: Stage, name: str) -> None:
    world = world_of(stage, works=False)
    answer = world.programs["owner"].post(f"campaigns/faq/jobs/{name}", {}, key="one")
    if answer.status_code == 202:
        job = queue.run(answer.json()["id"], "here", HANDLERS)
        assert job
        said = job.error
    else:
        said = answer.json()["detail"]
    with pytest.raises(CommandError) as refusal:
        quorum("campaign", name, "faq")
    assert str(refusal.value) == said


def test_what_was_cancelled_before_it_was_published_has_nothing_to_collect(stage: Stage) -> None:
    perform(OPERATIONS["cancel"], stage.campaign, {}, by=by_command())
    with pytest.raises(CommandError, match="was cancelled before it was published"):
        quorum("campaign", "collect", "faq")
    program = world_of(stage, works=False).programs["owner"]
    asked = program.post("campaigns/faq/jobs/collect", {}, key="one")
    job = queue.run(asked.json()["id"], "here", HANDLERS)
    assert job
    assert "was cancelled before it was published" in job.error


def test_a_program_cannot_choose_the_crowd_of_a_job(stage: Stage) -> None:
    """It is the site's own: an argument of the job, but none of the call."""
    program = world_of(stage, works=False).programs["owner"]
    elsewhere = {"agreed": True, "endpoint": "https://elsewhere.example.org"}
    refused = program.post("campaigns/faq/jobs/publish", elsewhere, key="one")
    assert refused.status_code == 400
    program.post("campaigns/faq/jobs/publish", {"agreed": True}, key="two")
    assert Job.objects.get().arguments["endpoint"] == stage.mturk.url
