"""The dataset card: README.md as the Hugging Face Hub shows it, from the release's own files."""

from __future__ import annotations

import html
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from annotation.protocol.estimates.split_sizes import too_small_to_measure
from annotation.protocol.policy.tasks import task_of
from core.text.markdown import Markdown, printed
from core.text.words import plural
from exports.card import notes, tables
from exports.card.canvas import DARK, LIGHT
from exports.card.croissant import croissant
from exports.card.header import header
from exports.card.licences import bibtex
from exports.card.origin import corpus_in_words, is_retrieved, labelled_by_votes, nobody_judged
from exports.card.plots import plots, write_plots
from exports.card.protocol import cost, protocol
from exports.card.words import count, rate
from exports.formats.loading_code import groups, snippets
from exports.layout.files import (
    CAMPAIGN,
    CARD,
    CHANGES,
    CROISSANT,
    MANIFEST,
    PLACEMENTS,
    RELEASE,
    STATS,
)
from exports.layout.manifest import checksums_code

TEMPLATE = "template.md"
PLOTS = "plots/"  # shown, not listed


def write_card(folder: Path) -> None:
    """After every file but the manifest: the card names them all, Croissant has their checksums."""
    facts = _read(folder, CAMPAIGN)
    write_plots(folder, task_of(facts["policy"]), retrieved=is_retrieved(facts))
    (folder / CARD).write_bytes(card(folder))
    (folder / CROISSANT).write_bytes(croissant(folder))


def card(folder: Path) -> bytes:
    page = environment()
    page.filters.update(count=count, plural=plural, rate=rate)
    return page.get_template(TEMPLATE).render(_context(folder)).encode()


def _context(folder: Path) -> dict[str, Any]:
    release, facts, stats = (_read(folder, name) for name in (RELEASE, CAMPAIGN, STATS))
    whole = stats["splits"]["all"]
    name = f"{release['campaign']}-{release['number']}"
    return {
        "release": release,
        "facts": facts,
        "policy": facts["policy"],
        "task": task_of(facts["policy"]),
        "stats": stats,
        "all": whole,
        "header": Markdown(header(folder, facts, whole["triplets"])),
        "statistics": tables.statistics(stats["splits"]),
        "quality": tables.quality(stats),
        "trust": list(notes.trust(facts, stats)),
        **_protocol(folder, facts, stats),
        "splits": list(notes.splits(release, facts, stats)),
        "withheld": tables.withheld(_withheld(folder)),
        **_baselines(facts, stats),
        "plots": plots(stats, task_of(facts["policy"]), retrieved=is_retrieved(facts)),
        "light": LIGHT,
        "dark": DARK,
        "pool": tables.retrievers(stats.get("retrievers", ())),
        "corpus": corpus_in_words(facts),
        "sources": tables.sources(facts["sources"]),
        "changes": notes.changes(release, _read(folder, CHANGES)),
        "limits": list(notes.limits(release, facts, judged=not nobody_judged(facts, stats))),
        "folder_name": name,
        "groups": groups(path for path in _paths(folder) if not path.startswith(PLOTS)),
        "snippets": snippets(name),
        "checksums": checksums_code(name),
        "citation": bibtex(release["campaign"], release["number"]),
    }


def _protocol(folder: Path, facts: dict[str, Any], stats: dict[str, Any]) -> dict[str, Any]:
    judged = not nobody_judged(facts, stats)
    by_votes = labelled_by_votes(folder, facts["policy"]["annotators"])
    return {
        "judged": judged,
        "cost": cost(facts, judged=judged, by_votes=by_votes),
        "protocol": protocol(facts, judged=judged),
    }


def _baselines(facts: dict[str, Any], stats: dict[str, Any]) -> dict[str, Any]:
    retriever = "the retriever" if is_retrieved(facts) else "the imported order"
    if is_retrieved(facts) and facts["queries"].get("retrievers"):
        retriever = "the pool of the retrievers"
    queries = {split: row["queries"] for split, row in stats["splits"].items()}
    table = tables.baselines(stats.get("baselines"), queries, retriever=retriever)
    few = too_small_to_measure(queries)
    return {"retriever": retriever, "baselines": table, "few_queries": few}


def _read(folder: Path, name: str) -> dict[str, Any]:
    values: dict[str, Any] = orjson.loads((folder / name).read_bytes())
    return values


def _paths(folder: Path) -> list[str]:
    """Every file that the finished release has."""
    paths = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return sorted(paths | {CARD, CROISSANT, MANIFEST})


def _withheld(folder: Path) -> Counter[str]:
    """Of each reason, how many queries are in no split for it."""
    with (folder / PLACEMENTS).open("rb") as file:
        rows = map(orjson.loads, file)
        return Counter(row["reason"] for row in rows if row["split"] is None)


def environment() -> Environment:
    """Not HTML: autoescape would write `&#39;` for an apostrophe. `finalize` escapes instead."""
    made = Environment(  # noqa: S701 - escaped by `finalize`, as Markdown
        loader=PackageLoader("exports.card", "."),
        undefined=StrictUndefined,
        finalize=printed,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["plain"] = Markdown
    made.filters["attribute"] = lambda text: Markdown(html.escape(text))
    return made
