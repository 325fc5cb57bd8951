"""The release once more, by one process, from the crowd's final records alone.

Only what defines the campaign is copied from the live database: queries, candidates, pairs,
instructions, controls, the policy, and which item of which HIT is what. Workers, assignments,
judgments, exclusions, labels and money are then made of the emulator's records, in order of
submission, by `annotation.protocol`; `exports` builds the release of that. The database is a fresh
SQLite file of a process of its own, the releases lie beside it. The salt that hides the workers'
names comes along: under another one they would have other names.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from django.conf import settings
from django.core import serializers
from django.core.management import call_command
from django.db import models, transaction

from annotation.models import (
    Account,
    Assignment,
    Campaign,
    Control,
    Entry,
    Exclusion,
    Hit,
    HitItem,
    Instructions,
    Judgment,
    Triplet,
    Worker,
)
from annotation.simulation.schema import make_database
from demo.processes import ROOT, without_outside
from exports.building.export import export
from exports.building.options import Options
from exports.models import WorkerSalt
from retrieval.models import Candidate, IndexVersion, QaPair, Query, QuerySet
from tests.chaos.audit import restored_workers
from tests.chaos.record import Work, read_record
from tests.chaos.verdict import Verdict

PROGRAM = "import django; django.setup(); from tests.chaos.replay import main; main()"
DEFINITION = "definition.json"
REQUEST = "request.json"


def replayed_release(
    state: Path, campaign: Campaign, folder: Path, *, partial: bool = False
) -> Path:
    """The folder, with the release in it. `partial`: although triplets are open."""
    with tempfile.TemporaryDirectory(prefix="quorum-replay-") as data:
        with Path(data, DEFINITION).open("w") as file:
            serializers.serialize("json", definition(campaign), stream=file)
        request = {
            "campaign": campaign.name,
            "state": str(state.resolve()),
            "folder": str(folder.resolve()),
            "restored": sorted(restored_workers(campaign)),
            "partial": partial,
            "empty": str(settings.DATA_DIR / "dry-runs"),  # spares the process all migrations
        }
        Path(data, REQUEST).write_text(json.dumps(request))
        environment = without_outside(os.environ) | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "QUORUM_DATA": data,
        }
        subprocess.run([sys.executable, "-c", PROGRAM, data], cwd=ROOT, env=environment, check=True)
    return folder


def definition(campaign: Campaign) -> Iterator[models.Model]:
    """What was decided before anybody judged anything, and the packing."""
    items = HitItem.objects.filter(hit__campaign=campaign)
    candidates = Candidate.objects.filter(query__query_set=campaign.query_set_id)
    yield from chain(
        IndexVersion.objects.filter(query_sets=campaign.query_set_id),
        QuerySet.objects.filter(pk=campaign.query_set_id),
        Query.objects.filter(query_set=campaign.query_set_id),
        QaPair.objects.filter(pk__in=candidates.values("pair")),
        candidates,
        Campaign.objects.filter(pk=campaign.pk),
        Instructions.objects.filter(campaign=campaign),
        WorkerSalt.objects.filter(campaign=campaign),
        Control.objects.filter(pk__in=items.values("control")),
    )
    for triplet in Triplet.objects.filter(campaign=campaign):
        yield Triplet(pk=triplet.pk, campaign=campaign, candidate_id=triplet.candidate_id)
    for hit in Hit.objects.filter(campaign=campaign):
        yield Hit(
            pk=hit.pk,
            campaign=campaign,
            key=hit.key,
            number=hit.number,
            seed=hit.seed,
            instructions_id=hit.instructions_id,
            max_assignments=0,
            price_cents=hit.price_cents,
        )
    yield from items


def differing_files(one: Path, other: Path) -> list[str]:
    """Names of files that only one folder has, or whose bytes differ."""
    mine, theirs = _contents(one), _contents(other)
    return sorted(
        name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)
    )


def _contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def main() -> None:
    """In the process of its own: argv names the folder that holds the request."""
    data = Path(sys.argv[1])
    request = json.loads((data / REQUEST).read_text())
    make_database(data / "quorum.sqlite3", Path(request["empty"]))
    call_command("loaddata", data / DEFINITION, verbosity=0)
    campaign = Campaign.objects.get(name=request["campaign"])
    record = read_record(Path(request["state"]), campaign)
    with transaction.atomic():
        store(Verdict(record, campaign.policy, request["restored"]), campaign)
    export(campaign, Path(request["folder"]), options=Options(partial=request["partial"]))


def store(verdict: Verdict, campaign: Campaign) -> None:
    """Everything that follows from the crowd's record, in the order of submission."""
    works = verdict.record.works
    names = list(dict.fromkeys(work.worker for work in works))
    made = Worker.objects.bulk_create(Worker(crowd="mturk", worker_id=name) for name in names)
    workers = {worker.worker_id: worker for worker in made}
    hits = {hit.key: hit for hit in campaign.hits.all()}
    items = {item.key: item for item in HitItem.objects.filter(hit__campaign=campaign)}
    assignments = Assignment.objects.bulk_create(
        _assignment(verdict, work, hits[work.hit], workers[work.worker]) for work in works
    )
    Judgment.objects.bulk_create(
        Judgment(
            assignment=assignment,
            item=items[key],
            triplet_id=items[key].triplet_id,
            worker=assignment.worker,
            value=value,
        )
        for work, assignment in zip(works, assignments, strict=True)
        for key, value in work.answers.items()
    )
    Exclusion.objects.bulk_create(
        Exclusion(
            campaign=campaign,
            worker=workers[decision.worker],
            failures=decision.failures,
            reviewed=decision.reviewed,
        )
        for decision in verdict.decisions
        if decision.worker in verdict.excluded
    )
    _label(verdict, campaign)
    _book(verdict, campaign)


def _assignment(verdict: Verdict, work: Work, hit: Hit, worker: Worker) -> Assignment:
    # Exports read votes by this time: the number in the order of submission keeps that order,
    # however coarse a clock was.
    when = datetime.fromtimestamp(work.number, UTC)
    return Assignment(
        hit=hit,
        worker=worker,
        crowd_id=work.assignment_id,
        status=work.status,
        accepted_at=when,
        submitted_at=when,
        answers=dict(work.fields),
        passed=work.passed,
        failure=work.failure,
        account=verdict.account_of(work),
    )


def _label(verdict: Verdict, campaign: Campaign) -> None:
    rows = list(campaign.triplets.all())
    for row in rows:
        votes, label = verdict.votes.get(row.pk, ()), verdict.label(row.pk)
        row.status, row.label = label.status, label.value
        row.label_source = None if label.value is None else Triplet.LabelSource.MAJORITY
        row.votes, row.positive_votes = len(votes), sum(votes)
    fields = ["status", "label", "label_source", "votes", "positive_votes"]
    Triplet.objects.bulk_update(rows, fields, batch_size=500)


def _book(verdict: Verdict, campaign: Campaign) -> None:
    """What the crowd was paid, bonuses included."""
    account = Account.objects.create(campaign=campaign)
    spent = sum(hit.spent_cents for hit in verdict.record.hits)
    discarded = sum(
        work.spent_cents for work in verdict.record.works if verdict.account_of(work) == "discarded"
    )
    Entry.objects.bulk_create(
        _entries(
            account,
            [
                ("funds", "available", spent),
                ("available", "paid", spent - discarded),
                ("available", "discarded", discarded),
            ],
        )
    )


def _entries(account: Account, moves: Iterable[tuple[str, str, int]]) -> Iterator[Entry]:
    for source, target, cents in moves:
        if cents:
            yield Entry(
                account=account,
                key=f"{source} {target}",
                source=source,
                target=target,
                cents=cents,
            )
