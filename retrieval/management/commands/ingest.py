import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from core.command import QuorumCommand, record, table
from core.errors import UserError
from retrieval.corpus.ingest import IngestResult, ingest
from retrieval.corpus.sources.formats import FORMATS
from retrieval.corpus.sources.top_share import TopShare, share_of
from retrieval.encoders.lazy import load_scorer
from retrieval.registry.registry import resolve_either


class Command(QuorumCommand):
    help = (
        "Adds the q/a pairs of a jsonl, csv, tsv or Parquet file (all but Parquet also as .gz), or "
        "of a source in the format it is published in, to the database."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, help="columns: question, answer; optional: id, license"
        )
        parser.add_argument("--source", required=True, help="the name of the pairs' source")
        parser.add_argument(
            "--format",
            choices=sorted(FORMATS),
            help="the published format, see docs/sources.md (default: by the file's ending)",
        )
        parser.add_argument(
            "--license",
            default="",
            help="the license of the rows that name none themselves (default: what the format's "
            "publisher states)",
        )
        parser.add_argument(
            "--keep-best", metavar="SHARE", help="add only the best pairs by a score: 10%% or 0.1"
        )
        parser.add_argument("--score-field", metavar="NAME", help="the file's column of scores")
        parser.add_argument(
            "--scorer",
            metavar="MODEL",
            help="a registered model, a folder with a CrossEncoder, or an encoder",
        )
        parser.add_argument("--device", default=settings.ENCODER_DEVICE, help="auto, cpu or cuda")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        path: Path = options["file"]
        best = _best(options)
        size = os.path.getsize(path) if os.path.isfile(path) else None
        with self.progress(size and size * (2 if best else 1), f"Reading {path.name}", "B") as bar:
            result = ingest(
                path,
                options["source"],
                license=options["license"],
                format=options["format"],
                best=best,
                conclude=lambda done: _record(options, done),
                progress=bar.update,
            )
        return {
            "source": options["source"],
            "rows_read": result.read,
            "added": result.added,
            "duplicates": result.duplicates,
            "of_these_withdrawn": result.withdrawn or None,
            "skipped": result.skipped,
            "best": result.best and asdict(result.best),
            "rejected": result.rejected,
            "rejects_file": result.rejects_path and str(result.rejects_path),
        }

    def render(self, result: dict[str, object]) -> str:
        skipped, best = result["skipped"], result["best"]
        words: dict[str, object] = {"skipped": None}
        if isinstance(skipped, dict) and skipped:
            words["skipped"] = "; ".join(f"{count:,} {why}" for why, count in skipped.items())
        if isinstance(best, dict):
            words["best"] = (
                f"{best['kept']:,} of {best['pairs']:,} pairs, down to the score "
                f"{best['threshold']:g}"
            )
        return table(result | words)


def _record(options: dict[str, Any], done: IngestResult) -> None:
    """As an import by a page is told."""
    wanted = {
        "source": options["source"],
        "license": options["license"],
        "format": options["format"] or "",
        "share": options["keep_best"] or "",
        "score_field": options["score_field"] or "",
        "scorer": options["scorer"] or "",
        "files": [options["file"].name],
    }
    counts = {"added": done.added, "duplicates": done.duplicates, "rejected": done.rejected}
    record("import pairs", subject=options["source"], details=wanted | counts)


def _best(options: dict[str, Any]) -> TopShare | None:
    share, field, scorer = (options[name] for name in ("keep_best", "score_field", "scorer"))
    if share is None:
        if field or scorer:
            raise UserError("Say how many pairs to keep: --keep-best 10% goes with the score.")
        return None
    if field and scorer:
        raise UserError("Both --score-field and --scorer give scores: give only one of them.")
    if not field and not scorer:
        raise UserError("--keep-best needs either --score-field NAME or --scorer MODEL.")
    wanted = share_of(share)
    model = load_scorer(resolve_either(scorer), options["device"]) if scorer else None
    return TopShare(wanted, field or "", model)
