"""The wording that annotators read: versions, of which HITs not yet asked for take the newest."""

from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.db.models import Count

from annotation.models import Campaign, Instructions, OutboxMessage
from annotation.pipeline.ledger.reservations import locked
from core.errors import UserError
from core.text.clean import CONTROLS, is_utf8

MOST_CHARACTERS = 50_000


class Overtaken(Exception):
    """Somebody has saved another version since the one that was being changed."""

    def __init__(self, newest: Instructions) -> None:
        super().__init__(f"{newest} was saved meanwhile")
        self.newest = newest


class Unchanged(UserError):
    """The newest wording is this one already."""

    def __init__(self, newest: Instructions) -> None:
        super().__init__(f"It has not changed: version {newest.version} has exactly this text.")
        self.newest = newest


@dataclass(frozen=True)
class Added:
    version: int
    changed_hits: int  # not asked for yet: they take the new wording
    kept_hits: int  # their workers read what they were published with


def read_instructions(path: Path) -> str:
    """The text of a file that can be instructions; UserError else."""
    what = f"The instructions {path}"
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MOST_CHARACTERS + 1)
    except OSError as error:
        raise UserError(f"{what} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{what} are not UTF-8: save them as such.") from error
    if len(text) > MOST_CHARACTERS:  # or its end would be lost without a word
        raise _too_long(what)
    return clean_instructions(text, what=what)


def clean_instructions(text: str, *, what: str = "The instructions") -> str:
    """Without control characters, which no database or no page takes; UserError names the rest."""
    text = CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if not is_utf8(text):
        raise UserError(f"{what} are not UTF-8: save them as such.")
    if not text.strip():
        raise UserError(f"{what} are empty: annotators need to be told the rule.")
    if len(text) > MOST_CHARACTERS:
        raise _too_long(what)
    return text


def _too_long(what: str) -> UserError:
    return UserError(
        f"{what} have more than {MOST_CHARACTERS:,} characters: nobody reads so much before a HIT, "
        "so shorten them."
    )


@transaction.atomic
def add_version(
    campaign: Campaign, text: str, *, author: str = "", based_on: int | None = None
) -> Added:
    """The newest wording from now on.

    Unchanged where it is that already, by whomever; Overtaken where the newest is not `based_on`.
    """
    text = clean_instructions(text)
    campaign = locked(campaign)  # publishing locks it too: no HIT is asked for meanwhile
    newest = campaign.instructions.latest("version")
    if text == newest.text:
        raise Unchanged(newest)
    if based_on is not None and newest.version != based_on:
        raise Overtaken(newest)
    added = Instructions.objects.create(
        campaign=campaign, version=newest.version + 1, text=text, author=author
    )
    unasked = campaign.hits.exclude(outbox__kind=OutboxMessage.Kind.CREATE).filter(crowd_id=None)
    changed = unasked.update(instructions=added)
    return Added(added.version, changed, campaign.hits.count() - changed)


def hits_of_versions(campaign: Campaign) -> dict[str, int]:
    """Version -> how many HITs show it, where there are any."""
    rows = campaign.hits.order_by().values_list("instructions__version")
    return {str(version): hits for version, hits in rows.annotate(Count("pk"))}
