"""New work for the members of the in-house crowd: told at most once a day."""

from datetime import datetime, timedelta
from uuid import UUID, uuid5

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count, Max
from django.utils import timezone

from annotation.access.roles import kept_from
from annotation.crowd.accounts import campaigns_with_accounts
from annotation.crowd.inhouse.members import member_of
from annotation.crowd.inhouse.models import HitType, Member, PostedHit
from annotation.crowd.inhouse.queue import count, open_queues
from annotation.models import Event
from annotation.notifications.events import emit

EVERY = timedelta(days=1)
MOST = 100  # tasks that are counted for a person
NAMESPACE = UUID("5f2a7c1e-8d0b-4c53-9a64-2e1b7f90d3c8")  # of the digests' uids


@transaction.atomic
def note_new_work(now: datetime) -> Event | None:
    """An event where HITs were posted since the last one, with a mail to each member."""
    last = Event.objects.filter(type=Event.Type.WORK).order_by("-pk").first()
    if last is not None and last.at > now - EVERY:
        return None
    last_sent = last.data["until"] if last else 0
    posted = PostedHit.objects.filter(pk__gt=last_sent, is_open=True, expires_at__gt=now)
    until = posted.aggregate(until=Max("pk"))["until"]
    if until is None:
        return None
    types = posted.order_by().values_list("hit_type__type_id").annotate(tasks=Count("pk"))
    names = dict(campaigns_with_accounts().values_list("hit_type_id", "name"))
    campaigns = [
        {"campaign": names[type], "tasks": tasks} for type, tasks in types if type in names
    ]
    members = Member.objects.filter(active=True, user__is_active=True).exclude(user__email="")
    people = [member.user for member in members.select_related("user").order_by("pk")]
    data = {"until": until, "campaigns": campaigns}
    # Of two workers at one instant one is refused: a digest has one successor. Locking the last
    # row would not do, for who has waited for it does not see the one that came meanwhile.
    uid = uuid5(NAMESPACE, str(last.uid if last else ""))
    try:
        with transaction.atomic():
            return emit(Event.Type.WORK, data, people=people, at=now, uid=uid)
    except IntegrityError:
        return None


def offered_work(user: User) -> dict[str, int]:
    """A campaign's title as annotators read it -> how many tasks the member could take now."""
    member = member_of(user)
    if member is None or not member.active:
        return {}
    types = dict(HitType.objects.values_list("type_id", "queue__pk"))
    ours = campaigns_with_accounts().filter(hit_type_id__in=types)
    closed = {types[one.hit_type_id] for one in ours.filter(pk__in=kept_from(user).values("pk"))}
    titles = {types[one.hit_type_id]: one.policy.title for one in ours}
    offered: dict[str, int] = {}
    for queue in open_queues(member, closed=closed):
        if (tasks := count(member, queue, timezone.now(), most=MOST)) and queue in titles:
            offered[titles[queue]] = offered.get(titles[queue], 0) + tasks
    return offered
