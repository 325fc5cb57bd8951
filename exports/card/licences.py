"""A source's licence by the names that the Hugging Face Hub knows, and how a release is cited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# What the Hub lists (docs: hub/repositories-licenses) of the licences that texts come under.
# fmt: off
ON_THE_HUB = frozenset(
    {
        "afl-3.0", "agpl-3.0", "apache-2.0", "artistic-2.0", "bsd-2-clause", "bsd-3-clause",
        "bsl-1.0", "c-uda", "cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0",
        "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0",
        "cc-by-nd-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0",
        "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cdla-sharing-1.0", "cdla-permissive-1.0",
        "cdla-permissive-2.0", "ecl-2.0", "epl-1.0", "epl-2.0", "etalab-2.0", "eupl-1.1",
        "eupl-1.2", "gfdl", "gpl-2.0", "gpl-3.0", "isc", "lgpl-2.1", "lgpl-3.0",
        "lppl-1.3c", "mit", "mpl-2.0", "ms-pl", "ncsa", "odbl", "odc-by", "ofl-1.1",
        "osl-3.0", "pddl", "postgresql", "unlicense", "wtfpl", "zlib",
    }
)
# fmt: on
# SPDX's own names of some of them.
ALSO = {
    "odbl-1.0": "odbl",
    "odc-by-1.0": "odc-by",
    "pddl-1.0": "pddl",
    "cc0": "cc0-1.0",
    "gpl-2.0-only": "gpl-2.0",
    "gpl-3.0-only": "gpl-3.0",
}


def known(licence: str) -> str | None:
    """The Hub's name of it, if it has one."""
    name = "-".join(licence.lower().split())
    name = ALSO.get(name, name)
    return name if name in ON_THE_HUB else None


def named(sources: Iterable[Mapping[str, Any]]) -> list[str]:
    """The sources' licences, each once; empty where a source names none."""
    return sorted({str(source["license"] or "").strip() for source in sources})


def of_the_release(sources: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The card's header: one licence for all where there is one, else "other" and which."""
    licences = named(sources)
    if not any(licences):
        return {"license": "unknown"}
    names = {known(licence) for licence in licences}
    if len(names) == 1 and (name := names.pop()):
        return {"license": name}
    words = ", ".join(licence or "not stated" for licence in licences)
    return {"license": "other", "license_name": "of-the-sources", "license_details": words}


def bibtex(campaign: str, number: int, **known: object) -> str:
    """`known`: what a release's own files cannot say, as they hold no clock time: year, url."""
    name = campaign.replace("_", r"\_")
    fields = {
        "author": f"{{The {name} authors}}",
        "title": f"{{{name}: a question-ranking dataset}}",
        **known,
        "version": f"release {number}",
        "note": "Built with Quorum",
    }
    lines = (f"  {field:7} = {{{value}}}" for field, value in fields.items() if value)
    return f"@misc{{{campaign}-{number},\n" + ",\n".join(lines) + "\n}"
