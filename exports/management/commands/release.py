"""`manage.py release list|build`: what has been released, and asking a worker for more."""

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotation.access.audit_log import by_command, record
from annotation.pipeline.setup.create import get_campaign
from core.command import QuorumCommand, add_subcommand
from exports.building.requests import request_build
from exports.management.release_options import add_options, read_options
from exports.management.release_words import changes_in_words
from exports.models import Build, Release


class Command(QuorumCommand):
    help = "A campaign's releases: list, build."

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
        listed = add_subcommand(steps, "list", help="what has been released")
        listed.add_argument("name", nargs="?", help="of this campaign alone")
        built = add_subcommand(steps, "build", help="ask the worker for the next release")
        built.add_argument("name", help="the campaign's name")
        add_options(built)

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        if options["step"] == "list":
            return {"releases": _releases(options["name"]), "builds": _builds(options["name"])}
        campaign = get_campaign(options["name"])
        with transaction.atomic():
            build = request_build(campaign, options=read_options(options), requested_by="")
            record(by_command(), "build-release", campaign=campaign, details=build.options)
        return {"campaign": campaign.name, "build": build.pk}

    def render(self, result: dict[str, Any]) -> str:
        if "build" in result:
            name = result["campaign"]
            return f"asked for: a worker builds it, then `manage.py release list {name}` shows it"
        lines = [_line(release) for release in result["releases"]]
        lines += [_said_of(build) for build in result["builds"]]
        return "\n".join(lines) or "nothing has been released yet"


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
    builds = Build.objects.select_related("campaign", "release").order_by("campaign__name", "pk")
    if name is not None:
        builds = builds.filter(campaign=get_campaign(name))
    last = {build.campaign_id: build for build in builds}
    return [
        {
            "campaign": build.campaign.name,
            "state": build.state,
            "stage": build.stage,
            "unchanged_since": build.release.number if build.release else None,
            "error": build.error,
        }
        for build in last.values()
        if build.unchanged or build.state != Build.State.DONE
    ]


def _said_of(build: dict[str, Any]) -> str:
    unchanged = f"made none: nothing has changed since release {build['unchanged_since']}"
    said = {
        Build.State.QUEUED: "waits for a worker",
        Build.State.RUNNING: f"is running: {build['stage']}",
        Build.State.DONE: unchanged,
        Build.State.FAILED: f"failed: {build['error']}",
    }
    return f"{build['campaign']}: the last build {said[build['state']]}"


def _line(release: dict[str, Any]) -> str:
    return (
        f"{release['campaign']} {release['number']}  {release['created_at']:%Y-%m-%d %H:%M}  "
        f"{release['queries']:,} queries, {release['triplets']:,} labels"
        f"{_options_in_words(release['options'])}; {changes_in_words(release['changes'])}"
    )


def _options_in_words(options: dict[str, Any]) -> str:
    said = {
        ", partial": options["partial"],
        ", split at random": options["split"] == "random",
        ", without judgments": not options["judgments"],
    }
    return "".join(words for words, holds in said.items() if holds)
