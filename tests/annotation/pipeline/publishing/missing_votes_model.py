"""Where the model asks for missing votes: HITs that grow, and new ones for repacked triplets."""

from collections.abc import Iterable, Mapping

from annotation.protocol.labels.majority import Label
from annotation.protocol.packing.repack import OpenTriplet, regroup
from tests.annotation.pipeline.whole.campaign_model import Hit, Model, OutboxMessage

MOST_PLACES = 9  # of a HIT that began with fewer than ten


def open_assignments(model: Model) -> None:
    if model.state == "paused":
        return
    labels = model.labels()
    still_open = {triplet for triplet, label in labels.items() if label.status == "open"}
    for hit in model.hits:
        idle = hit.known and not model.outstanding(hit)
        if idle and (model.policy.tie_mode == "repack" or still_open.isdisjoint(hit.triplets)):
            hit.reserved, hit.tie_reserve = hit.reserved - hit.tie_reserve, 0
    left_over, to_repack = _extend(model, labels, still_open)
    if to_repack:
        left_over += _repack(model, to_repack, still_open)
    if model.state == "capped":
        model.ask_for_affordable()
    model.set_capped(left_over > 0 or bool(model.wanted()))


def _extend(
    model: Model, labels: Mapping[int, Label], still_open: set[int]
) -> tuple[int, list[int]]:
    """(HITs that the budget leaves waiting, triplets that need another HIT)."""
    newest = {triplet: hit for hit in model.hits for triplet in hit.triplets}
    votes = model.votes()
    growing: list[tuple[Hit, int]] = []
    to_repack: list[int] = []
    for hit in model.hits:
        mine = [one for one in hit.triplets if one in still_open and newest[one] is hit]
        if not (mine and hit.known and not hit.closed and model.reviewed(hit)):
            continue
        by_growth = [
            labels[one].wanted
            for one in mine
            if model.policy.tie_mode == "extend"
            or hit.repack
            or len(votes[one]) < model.policy.annotators
        ]
        lacking = max(by_growth, default=0) - model.outstanding(hit)
        if any(newest[one] is not hit for one in hit.triplets):
            lacking = 0
        extra = max(0, min(lacking, MOST_PLACES - hit.max_assignments))
        if extra:
            growing.append((hit, extra))
        elif not model.outstanding(hit):
            to_repack += mine
    return sum(not _grow(model, hit, extra) for hit, extra in growing), to_repack


def _grow(model: Model, hit: Hit, extra: int) -> bool:
    new = max(0, extra - hit.tie_reserve)
    if new * model.price > model.available:
        return False
    hit.tie_reserve -= extra - new
    hit.reserved += new
    hit.max_assignments += extra
    model.outbox.append(OutboxMessage("extend", hit, max_assignments=extra))
    return True


def _repack(model: Model, triplets: Iterable[int], still_open: set[int]) -> int:
    """Groups that the budget leaves waiting."""
    # One whose publication was never answered may be known, and its work reviewed.
    unmet = (one.hit for one in model.outbox if one.kind == "create")
    coming = any(hit and not hit.known for hit in unmet)
    # What is left of a HIT whose triplets are all decided may never be taken.
    undecided = [hit for hit in model.hits if not still_open.isdisjoint(hit.triplets)]
    coming = coming or any(hit.known and model.outstanding(hit) for hit in undecided)
    wanting = [_open_triplet(model, triplet) for triplet in triplets]
    groups = regroup(wanting, model.policy, flush=not coming).groups
    affordable = groups[: model.available // model.price]
    if affordable:
        _make_known(model)
    for group in affordable:
        number = len(model.hits) + 1
        hit = Hit(
            number,
            model.key_of.format(number),
            [int(triplet.key) for triplet in group.triplets],
            max_assignments=1,
            reserved=1,
            asked=True,
            repack=True,
            excluded_workers=frozenset(model.workers[worker] for worker in group.excluded_workers),
        )
        model.hits.append(hit)
        model.outbox.append(OutboxMessage("create", hit, max_assignments=1))
    return len(groups) - len(affordable)


def _open_triplet(model: Model, triplet: int) -> OpenTriplet:
    earlier = model.had(triplet) - model.excluded
    numbers = frozenset(model.workers.index(worker) for worker in earlier)
    return OpenTriplet(f"{triplet:020}", model.queries[triplet], numbers)


def _make_known(model: Model) -> None:
    reviewed = {work.worker for work in model.reviewed()}
    for worker in model.workers:
        if worker in reviewed and worker not in model.told | model.excluded:
            model.told.add(worker)
            model.outbox.append(OutboxMessage("know", worker=worker))
