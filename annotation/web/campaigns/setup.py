"""What a site still needs before its first campaign runs, and the buttons that bring it."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from annotation.access.audit_log import Actor, by_page
from annotation.access.roles import CHANGE_CONTROLS, CREATE, Account
from annotation.crowd.inhouse.models import Member
from annotation.jobs.requests import ask_to_import
from annotation.models import Campaign, Control
from annotation.pipeline.publishing.pack import positive_names
from annotation.protocol.policy.crowds import CROWDS
from annotation.protocol.policy.policy import Policy
from annotation.web.base.guards import dashboard_page, permitted, refuse
from core.errors import UserError
from retrieval.corpus.uploads import UploadedFile, new_folder, throw_away
from retrieval.jobs.handlers import HANDLERS as DATABASE_HANDLERS
from retrieval.jobs.import_files import ImportRequest
from retrieval.models import IndexVersion, Job, QaPair
from retrieval.web.access import BUILD, IMPORT

SAMPLE = settings.BASE_DIR / "demo" / "qa_pairs.jsonl"
SAMPLE_REQUEST = ImportRequest(source="sample", license="CC0-1.0", index=True)
INVITE = "inhouse.add_invitation"
NOT_YOURS = "To load the sample data, your account needs the permissions {} and {}."


@dataclass(frozen=True)
class Step:
    """Done, or with what it takes: a page to go to, and a button where one click is enough."""

    title: str
    words: str
    done: bool
    page: str = ""
    link: str = ""  # what the link to the page says
    action: str = ""  # the address's name that a button posts to
    button: str = ""


def steps_of(reader: Account) -> Sequence[Step]:
    """Empty where all is done, or where the reader is not the one to do it."""
    if not reader.has_perm(CREATE):
        return []
    steps = [_account(), _data(reader), _index(), _controls(reader), _campaign(), _people(reader)]
    return [] if all(step.done for step in steps) else steps


def _account() -> Step:
    return Step("Account", "You are signed in.", True)


def _data(reader: Account) -> Step:
    done = QaPair.objects.exists()
    step = Step("Question/answer pairs", "Import your own file, or try the sample.", done)
    if not reader.has_perm(IMPORT):
        return step
    offer = {"action": "sample-data", "button": "Load the sample data"}
    sample = offer if reader.has_perm(BUILD) else {}
    return Step(step.title, step.words, done, "database-import", "Import a file", **sample)


def _index() -> Step:
    done = IndexVersion.objects.exists()
    words = "An import builds it. Without it, no candidates are found."
    if not QaPair.objects.exists():
        return Step("Search index", words, done)
    return Step("Search index", words, done, "database", "Build the index")


def _controls(reader: Account) -> Step:
    wanted = Policy().control_pool_size
    words = (
        f"{wanted} items whose answer is known, to check the work. Or draft a campaign's own from "
        "its queries, once it has candidates."
    )
    own = Control.objects.filter(drafted=True, retired_at=None)
    step = Step("Controls", words, len(positive_names()) >= wanted or own.exists())
    if not reader.has_perm(CHANGE_CONTROLS):
        return step
    return Step(
        step.title, words, step.done, "import-controls", "Import your own",
        "import-controls", "Add the shipped controls",
    )  # fmt: skip


def _campaign() -> Step:
    words = "Choose who judges, and how many queries."
    done = Campaign.objects.exists()
    return Step("Campaign", words, done, "campaign-new", "Plan the first campaign")


def _people(reader: Account) -> Step:
    """A crowd with people of its own needs no invitation."""
    elsewhere = [each.kind for each in CROWDS.values() if not each.is_team]
    done = (
        Member.team().filter(active=True).exists()
        or Campaign.objects.filter(policy_data__crowd__in=elsewhere).exists()
    )
    words = "At least three: two judge each item, and a third breaks ties."
    link = {"page": "team", "link": "Invite people"} if reader.has_perm(INVITE) else {}
    return Step("People", words, done, **link)


def running_job() -> Job | None:
    """Of the database: what a step waits for."""
    waiting = Q(state=Job.State.QUEUED) | Q(state=Job.State.RUNNING)
    jobs = Job.objects.filter(waiting, kind__in=DATABASE_HANDLERS).exclude(kind="count")
    return jobs.select_related("requested_by").order_by("pk").first()


@require_POST
@dashboard_page
def load_sample(request: HttpRequest) -> HttpResponse:
    """As `quorum corpus import demo/qa_pairs.jsonl`, with the index after it."""
    if not (permitted(request, IMPORT) and permitted(request, BUILD)):
        return refuse(request, 403, "Not open to you", NOT_YOURS.format(IMPORT, BUILD))
    try:
        _import_sample(by_page(cast(User, request.user)))
    except UserError as error:
        messages.error(request, str(error))
    return redirect("dashboard")


def _import_sample(by: Actor) -> None:
    folder, stored = new_folder(), f"1{SAMPLE.suffix}"
    try:
        shutil.copyfile(SAMPLE, folder / stored)
        file = UploadedFile(stored, SAMPLE.name, SAMPLE.stat().st_size)
        ask_to_import(by, SAMPLE_REQUEST, [file], folder)
    except UserError:
        throw_away(folder)
        raise
