"""Nobody finds another campaign's rows under this campaign's name."""

from collections.abc import Callable, Mapping

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from annotation.models import Campaign, ControlCandidate, ExpertLabel, OutboxMessage, Role, Worker
from retrieval.models import Job
from tests.annotation.api.campaign import campaign_at_work, submit
from tests.annotation.api.people import Program, is_problem, person
from tests.annotation.simulation.test_dry_run import made_up
from tests.annotation.support.hits import make_hit

TEXTS = {"query": "a query", "question": "a question", "answer": "an answer"}
Row = Callable[[Campaign], object]


def triplet_of(campaign: Campaign) -> int:
    return int(campaign.triplets.order_by("pk")[0].pk)


def control_of(campaign: Campaign) -> int:
    return int(campaign.controls.get().pk)


def worker_of(campaign: Campaign) -> str:
    return f"{campaign.name}-worker-0"


def draft_of(campaign: Campaign) -> int:
    return int(campaign.control_drafts.get().pk)


# By the address's end, the row of a campaign that stands in it.
READ: Mapping[str, Row] = {
    "triplets/{}": triplet_of,
    "triplets/{}/votes": triplet_of,
    "hits/{}": lambda campaign: campaign.hits.latest("number").number,
    "assignments/{}": lambda campaign: campaign.hits.all()[0].assignments.all()[0].pk,
    "controls/{}": control_of,
    "expert-labels/{}": lambda of: ExpertLabel.objects.get(triplet__campaign=of).pk,
    "workers/{}": worker_of,
    "workers/{}/letters": worker_of,
    "workers/{}/exclusion-impact": worker_of,
    "instructions/{}": lambda campaign: campaign.instructions.latest("version").version,
}
# An operation and its argument that names a row of a campaign.
WRITTEN: Mapping[str, tuple[str, Row, Mapping[str, str]]] = {
    "replace-control": ("control", control_of, TEXTS),
    "retire-control": ("control", control_of, {}),
    "confirm-control": ("triplet", triplet_of, TEXTS),
    "dismiss-control": ("triplet", triplet_of, {}),
    "confirm-draft": ("draft", draft_of, {"question": "two", "answer": "three"}),
    "dismiss-draft": ("draft", draft_of, {}),
}
LISTS = (
    "triplets", "labels", "hits", "assignments", "controls", "control-candidates", "control-drafts",
    "roles",
    "dry-runs", "expert-labels", "workers/both/letters",
)  # fmt: skip


@pytest.fixture
def other(campaign: Campaign) -> Campaign:
    """With a row of each kind, and with more HITs and instructions than the first one has."""
    other = campaign_at_work("other")
    make_hit(other, real=[("a second query", "question", "answer")])
    other.instructions.create(version=2, text="# Rules")
    for each in (campaign, other):
        ControlCandidate.objects.create(triplet=each.triplets.order_by("pk")[0])
        query = each.query_set.queries.earliest("pk")
        each.control_drafts.create(
            kind="positive", origin="rewording", query=query, question="a draft", answer="Ten."
        )
        Role.objects.create(user=person(f"of {each}"), campaign=each, name="viewer")
        Job.objects.create(
            kind="dry-run", subject=each.name, arguments={}, state="done",
            ended_at=timezone.now(), result=made_up(),
        )  # fmt: skip
        write_to_both(each)
    return other


def write_to_both(campaign: Campaign) -> None:
    """To one worker, who has worked in either."""
    worker, _ = Worker.objects.get_or_create(crowd="mturk", worker_id="both")
    submit(campaign.hits.all()[0], worker)
    OutboxMessage.objects.create(
        campaign=campaign, kind=OutboxMessage.Kind.NOTIFY, token=f"{campaign}", worker=worker,
        reason=f"Thank you for {campaign}.",
    )  # fmt: skip


@pytest.fixture(params=["both", "one"])
def reader(request: pytest.FixtureRequest, campaign: Campaign, other: Campaign) -> Program:
    """An owner, of whom nothing is kept where the row is, or everything."""
    user = person("cleo", campaign, "owner")
    if request.param == "both":
        Role.objects.create(user=user, campaign=other, name="owner")
    return Program(user)


def test_a_row_of_another_campaign_is_not_there(other: Campaign, reader: Program) -> None:
    for path, row in READ.items():
        assert is_problem(reader.get(f"campaigns/faq/{path.format(row(other))}"), 404), path


def test_it_is_there_under_its_own_name(other: Campaign) -> None:
    owner = Program(person("cleo", other, "owner"))
    for path, row in READ.items():
        answer = owner.get(f"campaigns/other/{path.format(row(other))}")
        assert answer.status_code == 200, path


def test_a_row_of_another_campaign_is_not_changed(other: Campaign, reader: Program) -> None:
    root = Program(User.objects.create_superuser("root"))
    for name, (argument, row, texts) in WRITTEN.items():
        sent = {**texts, argument: row(other), "agreed": True}
        path = f"campaigns/faq/operations/{name}"
        # A person who may not confirm for all campaigns is told so before the row is looked for.
        assert is_problem(
            reader.post(path, sent, key=name), 403 if name == "confirm-control" else 422
        )
        assert is_problem(root.post(path, sent, key=name), 422), name
        assert other.controls.get().retired_at is None
        assert ControlCandidate.objects.get(triplet__campaign=other).state == "open"


def test_nobody_labels_a_triplet_under_another_name(other: Campaign, reader: Program) -> None:
    sent = {"triplet": triplet_of(other), "label": 0, "pile": "reported"}
    assert is_problem(reader.post("campaigns/faq/expert-labels", sent), 404)
    assert ExpertLabel.objects.get(triplet__campaign=other).expert == "cleo"


def test_a_list_has_the_rows_of_its_own_campaign_alone(campaign: Campaign, other: Campaign) -> None:
    """The reader of both sees what the reader of one does."""
    one, both = person("ada", campaign, "owner"), person("cleo", other, "owner")
    # A person who has not labelled it is told of no expert's label.
    ExpertLabel.objects.create(
        triplet_id=triplet_of(campaign), expert="ada", label=1, source="sample"
    )
    Role.objects.create(user=both, campaign=campaign, name="owner")
    ada, cleo = Program(one), Program(both)
    for path in LISTS:
        report = [reader.get(f"campaigns/faq/{path}").json()["results"] for reader in (ada, cleo)]
        assert report[0] == report[1], path
        assert report[0], path
        assert report[0] != cleo.get(f"campaigns/other/{path}").json()["results"], path


def test_a_filter_by_another_campaign_s_triplet_finds_nothing(
    other: Campaign, reader: Program
) -> None:
    path = f"campaigns/faq/expert-labels?triplet={triplet_of(other)}"
    assert reader.get(path).json()["results"] == []
