"""Some candidates of a query set once more, in a query set of their own: held out as before."""

import random
from collections.abc import Sequence
from itertools import accumulate
from operator import itemgetter

from django.db import transaction
from django.db.models import Count

from core.errors import UserError
from retrieval.models import Candidate, Query, QuerySet
from retrieval.query_sets.held_out import save_drawn

QUERIES = 500  # in one database query


def draw_candidates(query_set: QuerySet, count: int, seed: int) -> list[Candidate]:
    """So many of all its candidates, each as likely as any other, by query and rank."""
    rows = Candidate.objects.filter(query__query_set=query_set).order_by()
    counted = rows.values_list("query", "query__key").annotate(candidates=Count("pk"))
    # Sorted here: databases differ in how they order texts, and the seed draws by the order.
    counts = sorted(counted, key=itemgetter(1))
    total = sum(candidates for *_, candidates in counts)
    if not 1 <= count <= total:
        raise UserError(
            f"{count:,} triplets of {query_set} cannot be drawn: it has {total:,} candidates."
        )
    drawn = random.Random(f"copy/{seed}").sample(range(total), count)  # noqa: S311
    places: dict[int, list[int]] = {}
    position = 0
    ends = list(accumulate(candidates for *_, candidates in counts))
    for number in sorted(drawn):
        while number >= ends[position]:
            position += 1
        first = ends[position] - counts[position][2]
        places.setdefault(counts[position][0], []).append(number - first)
    return _at(places)


def _at(places: dict[int, list[int]]) -> list[Candidate]:
    """Query -> which of its candidates, counted by rank from 0."""
    candidates: list[Candidate] = []
    queries = list(places)
    for start in range(0, len(queries), QUERIES):
        ranked: dict[int, list[Candidate]] = {}
        some = queries[start : start + QUERIES]
        rows = Candidate.objects.filter(query__in=some)
        for row in rows.select_related("query").order_by("rank"):
            ranked.setdefault(row.query_id, []).append(row)
        candidates += [ranked[query][place] for query in some for place in places[query]]
    return candidates


@transaction.atomic
def copy_candidates(
    name: str, copied: QuerySet, candidates: Sequence[Candidate], seed: int
) -> QuerySet:
    """With their pairs, ranks and scores."""
    queries: dict[int, Query] = {row.query_id: row.query for row in candidates}
    query_set = save_drawn(name, QuerySet.Origin.COPY, copied, list(queries.values()), seed)
    query_set.retrieved_with = copied.retrieved_with
    query_set.retrieval = {k: v for k, v in copied.retrieval.items() if k == "retrievers"}
    query_set.save(update_fields=["retrieved_with", "retrieval"])
    copies = dict(query_set.queries.values_list("key", "pk"))
    Candidate.objects.bulk_create(
        Candidate(
            query_id=copies[row.query.key],
            pair_id=row.pair_id,
            rank=row.rank,
            score=row.score,
            found_by=row.found_by,
        )
        for row in candidates
    )
    return query_set
