"""A queue may hold a hundred thousand HITs: each look at it walks an index made for that."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.crowd.inhouse.models import Member
from tests.annotation.crowd.inhouse.team import Team

pytestmark = pytest.mark.concurrent

LOOKS = {
    "SELECT q.id, q.assignment_seconds": {"hits_begun", "hits_fresh"},
    "SELECT id, preference": {"hits_begun", "hits_fresh", "assignments_of_a_member"},
    "SELECT h.id, 0": {"hits_begun", "assignments_of_a_member"},
    # With few rows PostgreSQL holds one as good as the other.
    "SELECT h.id, MAX(had.id)": {"assignments_given_back|assignments_of_a_member"},
}


def plan(statement: str) -> str:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # which would rather read a small table as a whole
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
        cursor.execute(f"{explain} {statement}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def written_out(statement: str) -> str:
    """What PostgreSQL has planned before, where that is called."""
    if not statement.startswith("EXECUTE"):
        return statement.strip()
    with connection.cursor() as cursor:
        _, name, *_ = statement.split()
        cursor.execute("SELECT statement FROM pg_prepared_statements WHERE name = %s", [name])
        ((planned,),) = cursor.fetchall()
    return str(planned).removeprefix(f"PREPARE {name} AS").strip()


@pytest.fixture
def statements(team: Team, ada: Member) -> dict[str, str]:
    """Each that is made for a member to whom nothing is left but what was skipped, and its call."""
    team.publish()
    team.give_back(ada, team.get(ada))
    with CaptureQueriesContext(connection) as asked:
        assert team.take(ada) is not None
    calls = [one["sql"] for one in asked if not one["sql"].startswith("PREPARE")]
    return {written_out(call): call for call in calls}


@pytest.mark.parametrize("look", LOOKS)
def test_each_look_at_the_queue_walks_its_index(statements: dict[str, str], look: str) -> None:
    (call,) = (call for text, call in statements.items() if text.startswith(look))
    found = plan(call)
    assert [one for one in sorted(LOOKS[look]) if not re.search(one, found)] == [], found
