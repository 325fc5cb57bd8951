"""What tests read on the pages of releases."""

import html
import re

from annotation.models import Campaign
from exports.models import Release
from tests.support.pages import Response

ADDRESS = "/campaigns/demo/releases"


def text(response: Response) -> str:
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def words(response: Response) -> str:
    """Without the tags, and with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", text(response)).split())


def row(page: str, name: str) -> list[str]:
    """A table's row by its first cell: each cell's words."""
    found = re.search(
        rf'<th scope="row">{name}(?:<small>[^<]*</small>)?</th>(.*?)</tr>', page, re.S
    )
    assert found, name
    cells = re.findall(r"<td>(.*?)</td>", found[1], re.S)
    return [" ".join(re.sub(r"<[^>]+>", "", cell).split()) for cell in cells]


def copy_of(release: Release, campaign: Campaign, number: int, *, without: str = "none") -> Release:
    """Another row of the same files."""
    files = list(release.files.exclude(path__startswith=without))
    made = Release.objects.create(
        campaign=campaign,
        number=number,
        prefix=f"{campaign.name}/{number}",
        options=release.options,
        stats=release.stats,
        changes=release.changes,
        manifest_sha256=release.manifest_sha256,
    )
    for file in files:
        made.files.create(path=file.path, bytes=file.bytes, sha256=file.sha256)
    return made
