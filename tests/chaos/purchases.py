"""Whether each place that the crowd was asked for is one that the rules ask for.

Work is reviewed in order of submission, so what was known at any time is that the campaign's first
so many works were reviewed. A purchase is right when some number of works, submitted before it was
made and not fewer than for the HIT's purchase before it, makes the rules ask for just this:

    first round   a packed HIT is made once, with `annotators` assignments
    extension     of the newest HIT of its triplets, by the votes that its neediest triplet wants
                  less the outstanding assignments, as far as the crowd lets it grow; in tie_mode
                  repack the ties of a first round's HIT do not count
    repacking     a HIT of one place: each of its triplets wants a vote, no place is outstanding
                  on the HITs that held it before, and the newest of them could not serve it: it is
                  closed, full or superseded, or the triplet is tied in tie_mode repack

What a person decides by hand (a rejection at the crowd, a prolonged HIT, an excluded worker) is
outside these rules.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations

from annotation.protocol.labels.majority import assignments_to_request, decide
from annotation.protocol.policy.crowds import CROWDED_HIT
from tests.chaos.record import Extension, TheirHit
from tests.chaos.verdict import Verdict

MANY = 1000
MOST_ORDERS = 5  # extensions of one HIT: a call repeated later may have passed another


def wrong_purchases(verdict: Verdict) -> Iterator[str]:
    shelf = _Shelf(verdict)
    for hit in shelf.hits:
        older = shelf.older(hit)
        first = 1 if older else verdict.policy.annotators
        if hit.first_assignments != first:
            made = hit.first_assignments
            yield f"HIT {hit.key} was made with {made} assignments, not with {first}."
        if older and not shelf.was_needed(hit, older):
            yield f"HIT {hit.key} was made though the rules did not ask for it."
        if not shelf.had_to_grow(hit):
            sizes = ", ".join(f"{extension.assignments}" for extension in hit.extensions)
            yield f"HIT {hit.key} was extended (by {sizes}) beyond what the rules ask for."


class _Shelf:
    """The HITs in the order of their numbers, which their keys keep, and how they hang together."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        packed = [hit for hit in verdict.record.hits if hit.key in verdict.record.items]
        # A duplicate is named elsewhere.
        once = {hit.key: hit for hit in reversed(packed)}
        self.hits = [once[key] for key in sorted(once)]
        self._holders: defaultdict[int, list[TheirHit]] = defaultdict(list)
        for hit in self.hits:
            for triplet in verdict.triplets_of(hit.key):
                self._holders[triplet].append(hit)
        self._positions: defaultdict[str, list[int]] = defaultdict(list)
        for position, work in enumerate(verdict.record.works):
            self._positions[work.hit].append(position)

    def older(self, hit: TheirHit, triplet: int | None = None) -> list[TheirHit]:
        """HITs of before that hold one of its triplets, or this one, in their order."""
        mine = self._mine(hit) if triplet is None else [triplet]
        before = {one.key: one for own in mine for one in self._holders[own] if one.key < hit.key}
        return [before[key] for key in sorted(before)]

    def was_needed(self, hit: TheirHit, older: Sequence[TheirHit]) -> bool:
        works = [self._positions[one.key] for one in older]
        for one, positions in zip(older, works, strict=True):
            if not one.closed and len(positions) < one.max_assignments:
                return False  # a place is outstanding still
        least = max((positions[-1] + 1 for positions in works if positions), default=0)
        return any(
            all(self._needs_repacking(hit, triplet, known, out) for triplet in self._mine(hit))
            for known in self._moments(hit, least, hit.created_at)
            for out in self.verdict.excluded_after(known)
        )

    def _needs_repacking(self, hit: TheirHit, triplet: int, known: int, out: set[str]) -> bool:
        votes = self.verdict.votes_after(known, triplet, out)
        before = self.older(hit, triplet)
        if not before or not decide(votes, self.verdict.policy).wanted:
            return False
        newest = before[-1]
        superseded = any(
            newest.key < one.key < hit.key
            for own in self._mine(newest)
            for one in self._holders[own]
        )
        if (
            newest.closed
            or superseded
            or newest.max_assignments >= _most_assignments(newest.max_assignments)
        ):
            return True
        tied = len(votes) >= self.verdict.policy.annotators
        return tied and self._repacks_ties(newest)

    def had_to_grow(self, hit: TheirHit) -> bool:
        few = len(hit.extensions) <= MOST_ORDERS
        orders = permutations(hit.extensions) if few else [hit.extensions]
        return any(self._grew_rightly(hit, order) for order in orders)

    def _grew_rightly(self, hit: TheirHit, extensions: Sequence[Extension]) -> bool:
        max_assignments, known = hit.first_assignments, 0
        for extension in extensions:
            asked = (
                moment
                for moment in self._moments(hit, known, extension.at)
                if extension.assignments in self._wanted_assignments(hit, max_assignments, moment)
            )
            found = next(asked, None)
            if found is None:
                return False
            max_assignments, known = max_assignments + extension.assignments, found
        return True

    def _wanted_assignments(self, hit: TheirHit, max_assignments: int, known: int) -> set[int]:
        """What the rules ask for after so many works."""
        reviewed = sum(position < known for position in self._positions[hit.key])
        room = _most_assignments(max_assignments) - max_assignments
        return {
            min(
                assignments_to_request(
                    self._wanted_votes(hit, known, out), max_assignments - reviewed
                ),
                room,
            )
            for out in self.verdict.excluded_after(known)
        }

    def _wanted_votes(self, hit: TheirHit, known: int, out: set[str]) -> Iterator[int]:
        policy = self.verdict.policy
        for triplet in self._mine(hit):
            votes = self.verdict.votes_after(known, triplet, out)
            tied = len(votes) >= policy.annotators
            if not (tied and self._repacks_ties(hit)):
                yield decide(votes, policy).wanted

    def _repacks_ties(self, hit: TheirHit) -> bool:
        return self.verdict.policy.tie_mode == "repack" and not self.older(hit)

    def _moments(self, hit: TheirHit, least: int, until: float) -> Iterator[int]:
        """Numbers of reviewed works after which something changed for its triplets, ascending."""
        works = self.verdict.record.works
        changes = {decision.position for decision in self.verdict.decisions}
        for one in [*self.older(hit), hit]:
            changes |= set(self._positions[one.key])
        for known in sorted({least, *(change + 1 for change in changes)}):
            if known >= least and (known == 0 or works[known - 1].submitted_at <= until):
                yield known

    def _mine(self, hit: TheirHit) -> list[int]:
        return self.verdict.triplets_of(hit.key)


def _most_assignments(max_assignments: int) -> int:
    """To which the crowd lets a HIT of so many grow."""
    return CROWDED_HIT - 1 if max_assignments < CROWDED_HIT else MANY
