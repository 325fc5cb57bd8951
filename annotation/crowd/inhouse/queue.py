"""Which HITs a member may take, the best ones first. Reads only: to have one, claim it.

The statements are written out because each of them has to walk an index of its own: the condition
of a partial index must stand in them word for word. PostgreSQL and SQLite both take them.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from random import shuffle
from typing import Any

from django.db import connection

from annotation.crowd.inhouse.models import Member
from annotation.protocol.policy.crowds import INHOUSE
from core.files.prepared import ask

CHOICE = 64  # candidates to choose among: two members seldom want the same one
TRIES = 2  # at begun HITs: what is gone by then, many others were after as well
WINDOW = 256  # begun HITs to look through: a quick worker may have begun most of them

_BEGUN = "h.is_open AND h.open_assignments > 0 AND h.open_assignments < h.max_assignments"
_FRESH = "h.is_open AND h.open_assignments > 0 AND h.open_assignments = h.max_assignments"
# q: a queue of the member's own crowd, from which they are not excluded. Who came by a panel's link
# sees the HITs of its campaign, until the visit ends.
_ADMITTED = f"""
EXISTS (SELECT 1 FROM inhouse_member m
        WHERE m.id = %(member)s AND m.active AND m.crowd = q.crowd)
AND (q.crowd = '{INHOUSE.kind}'
     OR EXISTS (SELECT 1 FROM inhouse_visit v JOIN inhouse_panellink l ON l.id = v.link_id
                WHERE v.member_id = %(member)s AND l.queue_id = q.id AND v.finished_at IS NULL))
AND NOT EXISTS (SELECT 1 FROM inhouse_block b WHERE b.member_id = %(member)s)
AND NOT EXISTS (SELECT 1 FROM inhouse_grant g
                WHERE g.member_id = %(member)s AND g.qualification_id = q.exclusion_id)
"""  # noqa: S608 - of constants alone, as are those that follow
# q: a queue whose HITs the member may see
_WELCOME = f"""
{_ADMITTED}
AND (q.qualified_id IS NULL
     OR EXISTS (SELECT 1 FROM inhouse_grant g
                WHERE g.member_id = %(member)s AND g.qualification_id = q.qualified_id))
"""  # noqa: S608
# h: a HIT whose type does not exclude the member; only that of repacked triplets excludes anybody.
# Who has submitted nothing of its queue has judged none of them, so nobody need have numbered them.
_QUALIFIED = """
EXISTS (SELECT 1 FROM inhouse_hittype t WHERE t.id = h.hit_type_id AND (t.known_id IS NULL
        OR EXISTS (SELECT 1 FROM inhouse_grant g
                   WHERE g.member_id = %(member)s AND g.qualification_id = t.known_id
                     AND NOT EXISTS (SELECT 1 FROM inhouse_excludedworker b
                                     WHERE b.hit_type_id = t.id AND b.number = g.value))
        OR NOT EXISTS (SELECT 1 FROM inhouse_grant g
                       WHERE g.member_id = %(member)s AND g.qualification_id = t.known_id)
           AND NOT EXISTS (SELECT 1 FROM inhouse_assignment a
                           JOIN inhouse_postedhit o ON o.id = a.posted_hit_id
                           WHERE a.member_id = %(member)s AND o.queue_id = %(queue)s
                             AND a.status IN ('held', 'submitted', 'approved', 'rejected'))))
"""
_NEVER_HAD = """
NOT EXISTS (SELECT 1 FROM inhouse_assignment a
            WHERE a.member_id = %(member)s AND a.posted_hit_id = h.id)
"""
_NOT_AT_IT = """
NOT EXISTS (SELECT 1 FROM inhouse_assignment a
            WHERE a.member_id = %(member)s AND a.posted_hit_id = h.id
            AND a.status NOT IN ('returned', 'lapsed'))
"""
# Of what may be there, the first: for a mere EXISTS, PostgreSQL may choose to read the whole table.
_QUEUES = f"""
SELECT q.id, q.assignment_seconds FROM inhouse_queue q
WHERE (%(queue_id)s = '' OR q.queue_id = %(queue_id)s) AND {_WELCOME}
  AND COALESCE(
    (SELECT h.id FROM inhouse_postedhit h
     WHERE h.queue_id = q.id AND {_BEGUN} ORDER BY h.id LIMIT 1),
    (SELECT h.id FROM inhouse_postedhit h
     WHERE h.queue_id = q.id AND {_FRESH} ORDER BY h.id LIMIT 1)
  ) IS NOT NULL
ORDER BY q.id
"""  # noqa: S608
# 1. What others have begun comes first, so that labels come early; else what nobody has.
_PREFERRED = f"""
SELECT id, preference FROM (
  SELECT h.id, 0 AS preference FROM (
    SELECT h.id, h.hit_type_id FROM inhouse_postedhit h
    WHERE h.queue_id = %(queue)s AND {_BEGUN} AND h.expires_at > %(now)s
    ORDER BY h.id LIMIT %(window)s) h
  WHERE {_QUALIFIED} AND {_NEVER_HAD}
  UNION ALL
  SELECT id, 1 AS preference FROM (
    SELECT h.id FROM inhouse_postedhit h
    WHERE h.queue_id = %(queue)s AND {_FRESH} AND h.expires_at > %(now)s
      AND {_QUALIFIED} AND {_NEVER_HAD}
    ORDER BY h.id LIMIT %(choice)s) fresh
) found LIMIT %(window)s
"""  # noqa: S608
# 2. Begun HITs behind the window.
_ANY = f"""
SELECT h.id, 0 FROM inhouse_postedhit h
WHERE h.queue_id = %(queue)s AND {_BEGUN} AND h.expires_at > %(now)s
  AND {_QUALIFIED} AND {_NEVER_HAD}
ORDER BY h.id LIMIT %(choice)s
"""  # noqa: S608
# 3. What the member had before and gave back, the longest ago first.
_AGAIN = f"""
SELECT h.id, MAX(had.id) FROM inhouse_assignment had
JOIN inhouse_postedhit h ON h.id = had.posted_hit_id
WHERE had.member_id = %(member)s AND had.status IN ('returned', 'lapsed')
  AND h.queue_id = %(queue)s AND h.is_open AND h.open_assignments > 0 AND h.expires_at > %(now)s
  AND {_QUALIFIED} AND {_NOT_AT_IT}
GROUP BY h.id ORDER BY MAX(had.id) LIMIT %(choice)s
"""  # noqa: S608
_COUNT = """
SELECT COUNT(*) FROM (
  SELECT 1 FROM inhouse_postedhit h
  WHERE h.queue_id = %(queue)s AND {state} AND h.expires_at > %(now)s
    AND {qualified} AND {not_at_it}
  LIMIT %(most)s) found
"""
_MAY_TAKE = f"""
SELECT 1 FROM inhouse_postedhit h JOIN inhouse_queue q ON q.id = h.queue_id
WHERE h.id = %(hit)s AND {_WELCOME} AND {_QUALIFIED.replace("%(queue)s", "h.queue_id")}
"""  # noqa: S608


@dataclass(frozen=True)
class Candidate:
    hit: int
    assignment_seconds: int


def candidates(
    member: Member,
    queue_id: str,
    now: datetime,
    *,
    closed: Collection[int] = (),
    avoided: Collection[int] = (),
) -> Iterator[Candidate]:
    """HITs that the member may take, in the order to try them; of all queues without `queue_id`.

    `avoided`: primary keys of HITs that come after all others that the member has never had.
    """
    queues = open_queues(member, queue_id, closed=closed)
    # They shall not fill the choice, in which others may stand behind them.
    limits = {"window": WINDOW + len(avoided), "choice": CHOICE + len(avoided)}
    given = {"member": member.pk, "now": stored(now), **limits}
    new = chain(_candidates_by(_PREFERRED, queues, given), _candidates_by(_ANY, queues, given))
    put_off = []
    for candidate in new:
        if candidate.hit in avoided:
            put_off.append(candidate)
        else:
            yield candidate
    yield from put_off
    yield from _candidates_by(_AGAIN, queues, given)


def _candidates_by(
    statement: str, queues: Mapping[int, int], given: Mapping[str, Any]
) -> Iterator[Candidate]:
    for queue, seconds in queues.items():
        rows = ask(statement, {**given, "queue": queue})
        hits = _spread(rows) if statement is _PREFERRED else [hit for hit, _ in rows]
        yield from (Candidate(hit, seconds) for hit in hits)


def _spread(hits: list[Any]) -> list[int]:
    """Those who ask at the same moment shall not queue up for the same few begun HITs."""
    shuffle(hits)
    begun, fresh = ([hit for hit, rank in hits if rank == which] for which in (0, 1))
    return begun[:TRIES] + fresh + begun[TRIES:]


def open_queues(
    member: Member, queue_id: str = "", *, closed: Collection[int] = ()
) -> dict[int, int]:
    """Those with open assignments and open to the member: primary key -> seconds for an assignment.

    `closed`: primary keys of those that the caller knows are not for this member.
    """
    rows = ask(_QUEUES, {"member": member.pk, "queue_id": queue_id})
    return {queue: seconds for queue, seconds in rows if queue not in closed}


def count(member: Member, queue: int, now: datetime, *, most: int) -> int:
    """How many HITs of the queue the member could take; counted no further than `most`."""
    total = 0
    for state in (_FRESH, _BEGUN):
        statement = _COUNT.format(state=state, qualified=_QUALIFIED, not_at_it=_NOT_AT_IT)
        given = {"member": member.pk, "queue": queue, "now": stored(now), "most": most - total}
        total += ask(statement, given)[0][0]
    return total


def may_take(member: Member, hit: int) -> bool:
    """Whether the member may work on it, were an assignment open."""
    return bool(ask(_MAY_TAKE, {"member": member.pk, "hit": hit}))


def rule(member: str) -> str:
    """The same in SQL, for statements over many: whether `member`, a column, may work on h of q.

    As if every qualification test were passed.
    """
    whole = f"{_ADMITTED} AND {_QUALIFIED} AND {_NOT_AT_IT}"
    return whole.replace("%(member)s", member).replace("%(queue)s", "h.queue_id")


def stored(at: datetime) -> Any:
    """As the database's own column holds it."""
    return connection.ops.adapt_datetimefield_value(at)
