"""HIT types: equal specs give the same one, however often and by whom it is asked for."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict

from django.db import IntegrityError, transaction

from annotation.crowd.inhouse.errors import refused
from annotation.crowd.inhouse.models import ExcludedWorker, HitType, Queue
from annotation.crowd.inhouse.workers import qualification
from annotation.crowd.port import HitTypeSpec
from annotation.protocol.policy.crowds import INHOUSE


def hit_type_of(spec: HitTypeSpec, crowd: str) -> HitType:
    if spec.masters or spec.min_approval_percent or spec.min_approved:
        raise refused(
            "People who work on this site have no Masters and no approval rates: the policy must "
            "not ask for them."
        )
    values = asdict(spec) | {"excluded_workers": sorted(spec.excluded_workers)}
    digest = _digest(values, crowd)
    hit_type = HitType.objects.filter(digest=digest).first()
    if hit_type is not None:
        return hit_type
    try:
        with transaction.atomic():
            return _make(spec, crowd, digest)
    except IntegrityError:  # somebody else has made it meanwhile
        return HitType.objects.get(digest=digest)


def _make(spec: HitTypeSpec, crowd: str, digest: str) -> HitType:
    known = qualification(spec.known_id) if spec.known_id and spec.excluded_workers else None
    made = HitType.objects.create(digest=digest, queue=_queue_of(spec, crowd), known=known)
    if known is not None:
        ExcludedWorker.objects.bulk_create(
            ExcludedWorker(hit_type=made, number=number) for number in set(spec.excluded_workers)
        )
    return made


def _queue_of(spec: HitTypeSpec, crowd: str) -> Queue:
    shown = {
        "title": spec.title,
        "description": spec.description,
        "reward_cents": spec.reward_cents,
        "assignment_seconds": spec.assignment_seconds,
    }
    wanted = {"exclusion": spec.exclusion_id, "qualified": spec.qualified_id}
    kinds = {role: qualification(kind) if kind else None for role, kind in wanted.items()}
    queue, _ = Queue.objects.get_or_create(
        digest=_digest(shown | wanted, crowd), defaults={"crowd": crowd, **shown, **kinds}
    )
    return queue


def _digest(values: Mapping[str, object], crowd: str) -> str:
    """The team's own is as it was before other crowds worked here."""
    whole = values if crowd == INHOUSE.kind else {**values, "crowd": crowd}
    canonical = json.dumps(whole, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()
