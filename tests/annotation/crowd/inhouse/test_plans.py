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
        explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
        cursor.execute(f"{explain} {statement}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


@pytest.fixture
def statements(team: Team, ada: Member) -> list[str]:
    """All that are made for a member to whom nothing is left but what was skipped."""
    team.publish()
    team.give_back(ada, team.get(ada))
    with CaptureQueriesContext(connection) as asked:
        assert team.take(ada) is not None
    return [one["sql"].strip() for one in asked]


@pytest.mark.parametrize("look", LOOKS)
def test_each_look_at_the_queue_walks_its_index(statements: list[str], look: str) -> None:
    (statement,) = (one for one in statements if one.startswith(look))
    found = plan(statement)
    assert [one for one in sorted(LOOKS[look]) if not re.search(one, found)] == [], found
