"""`manage.py export NAME --out DIR`: the campaign's next release, in a folder."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.access.audit_log import by_command, record
from annotation.pipeline.setup.create import get_campaign
from core.command import QuorumCommand
from exports.building.export import export
from exports.management.release_options import add_options, read_options
from exports.management.release_words import changes_in_words, check
from exports.models import Build
from exports.statistics.terminal import render_table


class Command(QuorumCommand):
    help = (
        "Build a campaign's next release and write it to a folder. Where nothing has changed since "
        "the last release, that one is written. A release never changes: run again, it writes "
        "nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the campaign's name")
        parser.add_argument(
            "--out", type=Path, required=True, metavar="DIR", help="a new or empty folder"
        )
        add_options(parser)

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        campaign = get_campaign(options["name"])
        with self.progress(1000, "exporting") as bar:
            done = export(
                campaign,
                options["out"],
                options=read_options(options),
                begun=_record,
                progress=bar.update,
            )
        release = done.released.release
        files = sorted(path for path in done.folder.rglob("*") if path.is_file())
        return {
            "campaign": campaign.name,
            "number": release.number,
            "unchanged": done.unchanged,
            "new": not done.released.unchanged,
            "note": done.released.note,
            "changes": release.changes,
            "folder": str(done.folder),
            "files": [str(path) for path in files],
            "stats": release.stats,
        }

    def render(self, result: dict[str, Any]) -> str:
        said = ", unchanged, as it lay there before" if result["unchanged"] else ""
        folder, files = result["folder"], len(result["files"])
        where = f"release {result['number']}{said}: {folder} ({files:,} files)"
        told = [changes_in_words(result["changes"]), *([result["note"]] if result["note"] else [])]
        return "\n".join([render_table(result["stats"]), "", *told, "", where, check(folder)])


def _record(build: Build) -> None:
    record(by_command(), "build-release", campaign=build.campaign, details=build.options)
