"""What time does by itself: leases lapse, HITs expire. Looked at whenever it matters."""

from datetime import datetime

from django.db import transaction
from django.db.models import F, Q

from annotation.crowd.inhouse.models import Offer, Work

BATCH = 500


def sweep(now: datetime) -> int:
    """Carry out all that has fallen due; how many places are open again."""
    Offer.objects.filter(on_offer=True, expires_at__lte=now).update(on_offer=False)
    return lapse(Q(), now)


def lapse(where: Q, now: datetime) -> int:
    """Give back the places of those works whose time ran out; how many."""
    due = Work.objects.filter(where, status=Work.Status.ACCEPTED, deadline__lte=now)
    lapsed = 0
    while batch := list(due.order_by("pk").values_list("pk", "offer_id")[:BATCH]):
        for work, offer in batch:
            lapsed += _lapse(work, offer, now)
    return lapsed


@transaction.atomic
def _lapse(work: int, offer: int, now: datetime) -> int:
    # Somebody may have handed it in, prolonged it or swept it up since it was listed.
    due = Work.objects.filter(pk=work, status=Work.Status.ACCEPTED, deadline__lte=now)
    if not due.update(status=Work.Status.LAPSED):
        return 0
    open_again(offer)
    return 1


def open_again(offer: int) -> None:
    Offer.objects.filter(pk=offer).update(open_places=F("open_places") + 1)
