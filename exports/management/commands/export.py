"""`manage.py export NAME --out DIR`: the release of a finished campaign."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.pipeline.create import get_campaign
from exports.build import export
from exports.folder import DATA_FILES, MANIFEST, STATS
from exports.stats import render_table
from retrieval.cli import QuorumCommand


class Command(QuorumCommand):
    help = (
        "Write a campaign's release: train.jsonl, dev.jsonl and test.jsonl with one query a line, "
        "stats.json and manifest.json. A release never changes: run again, it writes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the campaign's name")
        parser.add_argument(
            "--out", type=Path, required=True, metavar="DIR", help="a new or empty folder"
        )
        parser.add_argument(
            "--partial",
            action="store_true",
            help="leave out the triplets that still lack votes, instead of refusing",
        )

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        campaign = get_campaign(options["name"])
        total = campaign.query_set.queries.count()
        with self.progress(total, "exporting", "query") as bar:
            done = export(campaign, options["out"], partial=options["partial"], progress=bar.update)
        return {
            "campaign": campaign.name,
            "unchanged": done.unchanged,
            "files": [str(done.folder / name) for name in (*DATA_FILES, STATS, MANIFEST)],
            "stats": done.stats,
        }

    def render(self, result: dict[str, Any]) -> str:
        said = "unchanged, as released before:" if result["unchanged"] else "released:"
        return "\n".join([render_table(result["stats"]), "", said, *result["files"]])
