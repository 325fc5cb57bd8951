"""`quorum release`: builds, lists and verifies releases."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from django.db import transaction

from annotation.access.audit_log import by_command, record
from annotation.pipeline.setup.create import get_campaign
from annotation.protocol.estimates.certificate import LEAST_CERTIFIED, MOST_CERTIFIED
from core.command import Noun, Result, choice, progress, say
from core.output import Rendered
from exports.building.export import export
from exports.building.options import Options
from exports.building.requests import request_build
from exports.models import Build, Release
from exports.splits.splits import WAYS
from exports.statistics.text_table import render_table, without_metrics
from exports.verify.verify import Report
from exports.verify.verify import render as render_report
from exports.verify.verify import verify as verify_release

app = Noun("Releases of a campaign: build, list, verify, import, score, evaluate, compare.")


def _built(result: Result) -> Rendered:
    if "build" in result:
        name = result["campaign"]
        return f"A worker builds the release; `quorum release list {name}` shows when it is done."
    said = ", already there and unchanged" if result["unchanged"] else ""
    folder, files = result["folder"], len(result["files"])
    return [
        render_table(result["stats"]),
        "",
        _changes_in_words(result["changes"]),
        *filter(None, (result["note"], result["warning"])),
        "",
        f"release {result['number']}{said}: {folder} ({files:,} files)",
        f"card: {folder}/README.md; to check every figure: quorum release verify {folder}",
    ]


@app.verb("build", render=_built)
def build(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the campaign.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="New or empty folder for the release; without it, a worker builds the release.",
        ),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial", help="Leave out triplets that still lack votes, instead of refusing."
        ),
    ] = False,
    split: Annotated[
        str,
        choice(
            "--split",
            WAYS,
            "clusters: near-duplicate queries stay in one split; random: the paper's way.",
        ),
    ] = Options.split,
    no_judgments: Annotated[
        bool,
        typer.Option("--no-judgments", help="Leave out the individual judgments (pseudonymised)."),
    ] = False,
    certify: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=LEAST_CERTIFIED,
            max=MOST_CERTIFIED,
            help="Certify that at most this share of the labels is wrong, or build nothing.",
        ),
    ] = None,
) -> Result:
    """Build the next release of a campaign.

    If nothing has changed since the last release, you get that one. A release never changes: run
    again, the command writes nothing.
    """
    campaign = get_campaign(name)
    options = Options(partial=partial, split=split, judgments=not no_judgments, certify=certify)
    if out is None:
        with transaction.atomic():
            request = request_build(campaign, options=options, by=None)
            _record(request)
        return {"campaign": campaign.name, "build": request.pk}
    with progress(1000, "Building") as bar:
        done = export(campaign, out, options=options, begun=_record, progress=bar.update)
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
        "warning": without_metrics(release.stats["splits"]),
    }


def _record(build: Build) -> None:
    record(by_command(), "build-release", campaign=build.campaign, details=build.options)


def _listed(result: Result) -> Rendered:
    lines = [_line(release) for release in result["releases"]]
    lines += [_build_line(build) for build in result["builds"]]
    return lines or "There are no releases yet: build one with `quorum release build NAME`."


@app.verb("list", render=_listed)
def list_releases(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One campaign; without it, all.")
    ] = None,
) -> Result:
    """List the releases, and builds that are waiting, running or failed."""
    return {"releases": _releases(name), "builds": _builds(name)}


def _differences(result: Result) -> str | None:
    return "The release differs from its records." if result["differences"] else None


@app.verb(
    "verify",
    render=lambda result: render_report(Path(result["folder"]), _report(result)),
    fault=_differences,
)
def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the release, unpacked.")],
    previous: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the release before it.")
    ] = None,
) -> Result:
    """Recompute every label and figure of a release from its records.

    Exit status 2 if anything differs. `python -m exports.verify` does the same without a database.
    """
    report = verify_release(folder, previous=previous, say=lambda step: say(f"checking {step} ..."))
    return {"folder": str(folder), **asdict(report)}


def _report(result: Result) -> Report:
    return Report(**{name: value for name, value in result.items() if name != "folder"})


def _releases(name: str | None) -> list[dict[str, object]]:
    releases = Release.objects.select_related("campaign").order_by("campaign__name", "number")
    if name is not None:
        releases = releases.filter(campaign=get_campaign(name))
    return [
        {
            "campaign": release.campaign.name,
            "number": release.number,
            "created_at": release.created_at,
            "queries": release.stats["splits"]["all"]["queries"],
            "triplets": release.stats["splits"]["all"]["triplets"],
            "options": release.options,
            "changes": release.changes,
            "manifest_sha256": release.manifest_sha256,
        }
        for release in releases
    ]


def _builds(name: str | None) -> list[dict[str, object]]:
    """The last one of each campaign, unless it made its last release."""
    builds = Build.objects.order_by("subject", "pk")
    if name is not None:
        builds = builds.filter(subject=get_campaign(name).name)
    last = {build.subject: build for build in builds}
    return [
        {
            "campaign": build.subject,
            "state": build.state,
            "stage": build.stage,
            "unchanged_since": build.release.number if build.release else None,
            "error": build.error,
        }
        for build in last.values()
        if build.unchanged or build.state != Build.State.DONE
    ]


def _build_line(build: dict[str, Any]) -> str:
    unchanged = f"made no release: nothing has changed since release {build['unchanged_since']}"
    words = {
        Build.State.QUEUED: "is queued",
        Build.State.RUNNING: f"is running: {build['stage']}",
        Build.State.DONE: unchanged,
        Build.State.FAILED: f"failed: {build['error']}",
    }
    return f"{build['campaign']}: the last build {words[build['state']]}"


def _line(release: dict[str, Any]) -> str:
    return (
        f"{release['campaign']} {release['number']}  {release['created_at']:%Y-%m-%d %H:%M}  "
        f"{release['queries']:,} queries, {release['triplets']:,} labels"
        f"{_options_in_words(release['options'])}; {_changes_in_words(release['changes'])}"
    )


def _options_in_words(options: dict[str, Any]) -> str:
    said = {
        ", partial": options["partial"],
        ", split at random": options["split"] == "random",
        ", without judgments": not options["judgments"],
    }
    if certified := options.get("certify"):
        said[f", at most {certified:.1%} of the labels wrong"] = True
    return "".join(words for words, holds in said.items() if holds)


def _changes_in_words(changes: Mapping[str, Any]) -> str:
    """Of changes.json."""
    if changes["previous"] is None:
        return "the campaign's first release"
    labels, queries = changes["labels"], changes["queries"]
    return f"since the release before: labels {_counts(labels)}; queries {_counts(queries)}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {what}" for what, number in counts.items())
