"""How a release was made, as its own files tell it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from annotation.protocol.policy.crowds import CROWDS
from annotation.protocol.policy.policy import currency_of
from annotation.web.base.markdown import render_markdown
from core.text.money import money
from core.text.words import DASH
from exports.delivery.storage import read_document, read_text
from exports.layout.files import CAMPAIGN
from exports.models import Release
from exports.web.tables import Cell, Row, Table, at, count


@dataclass(frozen=True)
class Wording:
    version: str
    text: SafeString


@dataclass(frozen=True)
class Provenance:
    corpus: str
    sources: Table | None
    crowds: Table | None
    instructions: list[Wording]
    policy: list[tuple[str, str]]


def provenance_of(release: Release) -> Provenance:
    facts = read_document(release, CAMPAIGN)
    policy = at(facts, "policy") or {}
    return Provenance(
        corpus=_corpus(at(facts, "corpus")),
        sources=_sources(at(facts, "sources")),
        crowds=_crowds(at(facts, "crowds"), currency_of(policy)),
        instructions=list(_wordings(release, at(facts, "instructions"))),
        policy=[(name.replace("_", " "), _words(value)) for name, value in policy.items()],
    )


def _corpus(corpus: Any) -> str:
    """Empty: the oldest releases do not name it."""
    name, sources = at(corpus, "name"), at(corpus, "sources")
    if not name:
        return ""
    return f"{name}: {', '.join(map(str, sources))}" if sources else f"{name}: every source"


def _sources(sources: Any) -> Table | None:
    if not sources:
        return None
    rows = [
        Row(
            str(at(one, "source") or DASH),
            [Cell(str(at(one, "license") or "not stated")), Cell(count(at(one, "pairs")))],
        )
        for one in sources
    ]
    return Table("sources", "Sources", ("Licence", "Question/answer pairs"), rows)


def _crowds(crowds: Any, currency: str) -> Table | None:
    """None where one crowd judged all."""
    if not crowds:
        return None
    rows = [
        Row(
            one["campaign"],
            [
                Cell(CROWDS[one["crowd"]].title),
                Cell(count(len(one["query_ids"]))),
                Cell(money(one["cost_cents"], currency=currency)),
            ],
        )
        for one in crowds
    ]
    return Table("crowds", "Who judged", ("Crowd", "Queries", "Cost"), rows)


def _wordings(release: Release, stated: Any) -> Iterator[Wording]:
    for one in stated or []:
        text = read_text(release, str(at(one, "file")))
        if text is not None:
            second = f" of {one['campaign']}" if "campaign" in one else ""
            yield Wording(f"{one['version']}{second}", render_markdown(text))


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_words(one)}" for name, one in value.items()) or DASH
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value)) or DASH
    return DASH if value is None or value == "" else str(value)
