"""A published in-house campaign and a team that is signed in, for `benchmarks.judging`."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import VALID_KEY_CHARS
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.crypto import get_random_string

from annotation.crowd.factory import open_crowd
from annotation.crowd.inhouse.models import Member, PostedHit
from annotation.models import HitItem
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.setup.create import get_campaign
from annotation.protocol.policy.crowds import INHOUSE
from annotation.protocol.policy.policy import Policy
from benchmarks.campaign.inputs import NAME, make_campaign


@dataclass(frozen=True)
class Inputs:
    """The second half of the hits is for the bare views, whose requests name them."""

    members: list[tuple[int, str]]  # primary key, session
    hits: list[tuple[int, list[str]]]  # primary key, keys of its items


def main() -> None:
    path, members, share = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    make_campaign(Path(settings.DATA_DIR), share, Policy.from_dict(INHOUSE.defaults()))
    campaign = get_campaign(NAME)
    pack_hits(campaign)
    crowd = open_crowd("inhouse", live=False)
    publish(campaign, crowd)
    deliver(campaign, crowd)
    inputs = Inputs(make_members(members), hide_hits())
    path.write_text(json.dumps(asdict(inputs)))


def make_members(count: int) -> list[tuple[int, str]]:
    """Signed in, though nobody has chosen a password."""
    users = User.objects.bulk_create(
        User(username=f"member{number}", password="!") for number in range(count)
    )
    now = timezone.now()
    members = Member.objects.bulk_create(Member(user=user, joined_at=now) for user in users)
    sessions = [session_of(user) for user in users]
    Session.objects.bulk_create(sessions)
    return [
        (member.pk, session.session_key) for member, session in zip(members, sessions, strict=True)
    ]


def session_of(user: User) -> Session:
    data = {
        "_auth_user_id": str(user.pk),
        "_auth_user_backend": settings.AUTHENTICATION_BACKENDS[0],
        "_auth_user_hash": user.get_session_auth_hash(),
    }
    store = SessionStore()
    return Session(
        session_key=get_random_string(32, VALID_KEY_CHARS),
        session_data=store.encode(data),
        expire_date=store.get_expiry_date(),
    )


def hide_hits() -> list[tuple[int, list[str]]]:
    """Half of them end, so that the site does not hand out what the bare views write."""
    keys: dict[str, list[str]] = {}
    for hit, key in HitItem.objects.order_by("hit", "position").values_list("hit__key", "key"):
        keys.setdefault(hit, []).append(key)
    hits = list(PostedHit.objects.order_by("pk").values_list("pk", "annotation"))
    hidden = hits[len(hits) // 2 :]
    PostedHit.objects.filter(pk__in=[pk for pk, _ in hidden]).update(is_open=False)
    return [(pk, keys[annotation]) for pk, annotation in hidden]
