"""No address asks the database for much: what the walk's campaign has none of, and each act."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from annotation.models import ExpertLabel, Role
from annotation.operations.registry import OPERATIONS
from tests.annotation.api.world import World, make_world
from tests.annotation.web.walk.test_walk import MOST_QUERIES
from tests.annotation.web.walk.walk import SAVEPOINTS
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db


def queries(get: Callable[[], int]) -> tuple[int, int]:
    """The status, and how often the database was asked for it."""
    with CaptureQueriesContext(connection) as asked:
        status = get()
    return status, sum(not query["sql"].startswith(SAVEPOINTS) for query in asked)


@pytest.fixture
def world(one_hit: Stage, tmp_path: object, settings: Settings) -> World:
    settings.DATA_DIR = tmp_path
    return make_world(one_hit, tmp_path)  # type: ignore[arg-type]


def of_the_world(world: World) -> Iterator[str]:
    """What the walk's campaign has none of, and each act with all that it has to be told."""
    ids, own = world.ids, "/admin/campaigns/faq"
    program = "/api/v1/campaigns/faq"
    report = {
        "worker": world.work.worker.worker_id, "assignment": world.work.crowd_id, "days": 7,
        "amount": "1.50", "reason": "asked", "subject": "Thanks", "text": "Thank you.",
        "username": "bob", "role": "viewer", "control": ids["campaign controls"],
        "triplet": ids["control-candidates"], "draft": ids["drafts"],
        "kind": "positive", "query": "one", "question": "two", "answer": "three",
        "pilot": "new", "triplets": 4, "seed": 1, "budget": "5",
        "panel": "connect", "tasks": 5, "minutes": 5, "parameter": "", "code": "", "return_url": "",
        "link": "0", "note": "", "screen_out": "", "known": "",
        "crowd": "inhouse", "queries": 1, "ids": "", "second": "", "reward_cents": 5,
    }  # fmt: skip
    yield from (
        f"{own}/charts/kappa.csv",
        f"{own}/controls/{ids['campaign controls']}", f"{own}/triplets/{ids['triplets']}",
        f"{own}/milestones", f"{own}/publish", "/admin/campaigns/next/publish?first=2",
        "/admin/pilots/answers/", f"/admin/database/imports/{ids['imports']}",
        f"/admin/database/imports/{ids['imports']}/1/rejected.csv",
        f"/admin/database/pairs/{ids['pairs']}", "/admin/database/models/faq",
        f"/admin/database/trainings/{ids['trainings']}",
        f"/admin/controls/{ids['pool controls']}",
        f"/admin/jobs/{ids['jobs']}", f"{own}/dry-run",
        "/campaigns/faq/adjudicate?what=unresolved", "/campaigns/faq/adjudicate?what=reported",
        f"/campaigns/faq/releases/builds/{ids['builds']}", "/campaigns/faq/releases/1",
        "/api/v1/sources/faq", f"/api/v1/indexes/{ids['indexes']}", "/api/v1/pairs?source=faq",
        f"/api/v1/pairs/{ids['pairs']}", "/api/v1/models/faq",
        f"/api/v1/trainings/{ids['trainings']}",
        f"/api/v1/jobs/{ids['imports']}/rejected",
        f"{program}/charts/kappa", f"{program}/controls/{ids['campaign controls']}",
        f"{program}/instructions/1", "/api/v1/pilots/answers",
        f"{program}/assignments/{ids['assignments']}", f"{program}/releases/1",
        f"{program}/expert-labels/{ids['expert-labels']}", f"{program}/builds/{ids['builds']}",
    )  # fmt: skip
    for operation in OPERATIONS.values():
        yield f"{own}/operations/{operation.name}"
        yield f"{own}/operations/{operation.name}?" + "&".join(
            f"{field.name}={report[field.name]}" for field in operation.arguments
        )


def reader(name: str, world: World) -> Client:
    client = Client()
    if name == "root":
        client.force_login(User.objects.create_superuser("root"))
    else:
        user = User.objects.create_user("bob", is_staff=True)
        of_accounts = ("change_control", "add_campaign")
        user.user_permissions.set(Permission.objects.filter(codename__in=of_accounts))
        for campaign in (world.campaign, world.begun):
            Role.objects.create(user=user, campaign=campaign, name="owner")
        client.force_login(user)
    return client


@pytest.mark.parametrize("name", ["root", "owner"])
def test_what_the_walk_s_campaign_has_none_of_asks_for_little(world: World, name: str) -> None:
    client = reader(name, world)
    ExpertLabel.objects.update(expert="root" if name == "root" else "bob")
    seen = {
        path: queries(lambda path=path: client.get(path).status_code)  # type: ignore[misc]
        for path in of_the_world(world)
    }
    assert {path: count for path, (_, count) in seen.items() if count > MOST_QUERIES} == {}
    assert {path: status for path, (status, _) in seen.items() if status not in (200, 422)} == {}
