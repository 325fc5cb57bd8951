"""Figures of answer sentence selection that a paper prints, beside those of `make bench-models`."""

from collections.abc import Iterator

import yaml

from demo.processes import ROOT

SOURCE = "Di Liello et al. 2022, Table 1"
TABLES = ROOT / "recipes" / "experiments" / "as2-1"
PRINTED = ("wikiqa", "trecqa")
SYSTEMS = {"base": "{}-Base", "tanda": "TANDA {}"}


def printed(part: str) -> Iterator[str]:
    """A table in Markdown, of test, the clean way; the deviation over five runs in brackets."""
    yield f"| {SOURCE} | P@1 | MAP | MRR |"
    yield "| --- | --- | --- | --- |"
    for system, name in SYSTEMS.items():
        for base in ("RoBERTa", "ELECTRA"):
            table = yaml.safe_load((TABLES / f"as2-1-{part}-{base.lower()}.yaml").read_text())
            figures = table["systems"][system]["paper"].values()
            cells = (f"{value} ({deviation})" for value, deviation in figures)
            yield f"| {name.format(base)} | {' | '.join(cells)} |"
