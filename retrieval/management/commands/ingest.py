import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from retrieval.cli import QuorumCommand
from retrieval.ingest import ingest


class Command(QuorumCommand):
    help = "Adds the q/a pairs of a jsonl, csv or tsv file (or .gz) to the database."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, help="columns: question, answer; optional: id, license"
        )
        parser.add_argument("--source", required=True, help="the name of the pairs' source")
        parser.add_argument(
            "--license", default="", help="the license of the rows that name none themselves"
        )

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        path: Path = options["file"]
        size = os.path.getsize(path) if os.path.isfile(path) else None
        with self.progress(size, f"Reading {path.name}", unit="B") as bar:
            result = ingest(
                path, options["source"], license=options["license"], progress=bar.update
            )
        return {
            "source": options["source"],
            "rows_read": result.read,
            "added": result.added,
            "duplicates": result.duplicates,
            "rejected": result.rejected,
            "rejects_file": result.rejects_path and str(result.rejects_path),
        }
