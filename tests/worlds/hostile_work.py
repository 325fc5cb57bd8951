"""Members at work in the hostile campaign: whatever can be written is an attack."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from annotation.crowd.inhouse import assignments
from annotation.models import ExpertLabel, Hit, Role
from annotation.pipeline.manual.qualification import grant_qualification
from annotation.protocol.policy.crowds import INHOUSE
from core.text.clean import clean_text
from tests.worlds.hostile_campaign import HITS, TEXTS, hostile_campaign
from tests.worlds.small_campaign import sheet_of
from tests.worlds.team import Team, published_team

# Two votes decide, or leave it open for ever; before the first HIT comes a qualification test.
# Experts decide nothing: each triplet stays in its pile.
RULES = {
    **INHOUSE.defaults(),
    "adjudication": "measure",
    "qualification_items": 6,
    "on_failed_control": "pay_and_discard",
    "max_votes": 2,
    "min_assignments": 100,
}
EXPERT, SECOND = "expert", "second"
WORKERS = ("ada", "bob")


def hostile_team(folder: Path, url: str, **policy: object) -> Team:
    """Ada and bob are let in, eve has yet to take the qualification test."""
    team = published_team(hostile_campaign(folder, **{**RULES, **policy}), url)
    Role.objects.create(
        user=User.objects.create_user(EXPERT), campaign=team.campaign, name=Role.Name.ADJUDICATOR
    )
    for name in WORKERS:
        grant_qualification(team.campaign, team.members[name].worker_id)
    team.advance()
    return team


def judge(team: Team, texts: Sequence[str] = TEXTS, *, hits: int = HITS - 1) -> None:
    """So many HITs each; the next one they have in hand then.

    Ada says Yes throughout, bob in every other HIT: triplets of the rest stay unresolved.
    """
    words = itertools.cycle(texts)
    for name in WORKERS:
        member = team.members[name]
        client = Client()
        client.force_login(member.user)
        for _ in range(hits):
            work = assignments.take(member, now=timezone.now())
            assert work
            hit = Hit.objects.get(key=work.posted_hit.annotation)
            sheet = sheet_of(hit, 1 if name == "ada" else hit.number % 2)
            for item in hit.items.all():
                said = next(words)[:500]
                sheet |= {f"report-{item.key}": "other", f"report-text-{item.key}": said}
            sheet["behaviour"] = next(words)
            assert client.post(f"/work/{work.assignment_id}", sheet).status_code == 303
    team.advance()


def label_all(team: Team, texts: Sequence[str] = TEXTS) -> None:
    """A second expert's labels, with a note each."""
    User.objects.create_superuser(SECOND)
    words = itertools.cycle(texts)
    for triplet in team.campaign.triplets.all():
        ExpertLabel.objects.create(
            triplet=triplet,
            expert=SECOND,
            label=0,
            note=clean_text(next(words)),
            source=ExpertLabel.Source.ADJUDICATION,
            adjudicated=True,
        )
