"""What the database holds of what the members of `benchmarks.judging.load` have sent."""

import json
import sys
from pathlib import Path

from django.db.models import Count, F, Q

from annotation.crowd.inhouse.models import SUBMITTED_OR_DECIDED, Assignment, PostedHit


def main() -> None:
    sent = json.loads(Path(sys.argv[1]).read_text())
    work = Assignment.objects.filter(status__in=SUBMITTED_OR_DECIDED)
    stored = dict(work.values_list("assignment_id", "answers_json"))
    unlike = sum(json.loads(stored.get(key, "null")) != sheet for key, sheet in sent.items())
    held = Q(assignments__status__in=[*SUBMITTED_OR_DECIDED, Assignment.Status.ACCEPTED])
    hits = PostedHit.objects.annotate(taken=Count("assignments", filter=held))
    miscounted = hits.exclude(open_assignments=F("max_assignments") - F("taken")).count()
    print(json.dumps({"submitted": len(stored), "unlike": unlike, "miscounted": miscounted}))
