"""HITs of which something changed since a pass last looked at them: what a pass costs."""

from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

from django.db.models import QuerySet

from annotation.models import Campaign, ChangedHit, HitItem, Triplet, UntalliedHit
from core.files.bulk_insert import insert, insert_from_query

Row = TypeVar("Row")

HITS = 1000  # looked at together
MOST = 10  # where more than one in so many HITs changed, one look at all takes less time


class Changes:
    """The marks as they are now; with the campaign locked.

    `everything`: as if every HIT had one.
    """

    def __init__(self, campaign: Campaign, *, everything: bool = False) -> None:
        marks = ChangedHit.objects.filter(hit__campaign=campaign).order_by("pk")
        rows = list(marks.values_list("pk", "hit_id", "waits"))
        self._marks = {pk: hit for pk, hit, _ in rows}
        self._new = [pk for pk, _, waits in rows if not waits]
        hits = set(self._marks.values())
        if everything:
            hits |= set(campaign.hits.values_list("pk", flat=True))
        self.hits: Sequence[int] = sorted(hits)

    def take_off(self, *, but_for: Collection[int] | None) -> None:
        """All marks seen, but one for each of the HITs that a later pass has to look at again.

        None: for all of them.
        """
        but_for = set(self._marks.values()) if but_for is None else but_for
        kept = {hit: mark for mark, hit in self._marks.items() if hit in but_for}
        done = sorted(self._marks.keys() - set(kept.values()))
        for some in in_parts(self._new, 10 * HITS):
            marks = ChangedHit.objects.filter(pk__in=some)
            _mark_untallied(marks)
            marks.update(waits=True)
        for some in in_parts(done, 10 * HITS):
            ChangedHit.objects.filter(pk__in=some).delete()
        missing = sorted(set(but_for) - kept.keys())
        insert(ChangedHit, ["hit_id", "waits"], ([hit, True] for hit in missing))


def _mark_untallied(marks: QuerySet[ChangedHit]) -> None:
    hits = marks.order_by().values_list("hit_id").distinct()
    insert_from_query(UntalliedHit, ["hit_id"], hits)


def in_parts(rows: Sequence[Row], size: int = HITS) -> Iterator[Sequence[Row]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def is_most(campaign: Campaign, hits: Sequence[int]) -> bool:
    return bool(hits) and len(hits) * MOST > campaign.hits.count()


def mark_hits_of(triplets: Collection[int] | QuerySet[Triplet]) -> None:
    """Somebody has decided these: what is asked for them, and whether all is done, may change."""
    items = HitItem.objects.filter(triplet__in=triplets).order_by()
    insert_from_query(ChangedHit, ["hit_id"], items.values_list("hit_id"))


def triplets_of(hits: Sequence[int]) -> list[int]:
    of_these = HitItem.objects.filter(hit__in=hits, triplet__isnull=False)
    return sorted(set(of_these.values_list("triplet_id", flat=True)))
