"""Every field of every page, as a browser that lies would fill it in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from annotation.models import Campaign, Triplet
from annotation.practice_url import practice_url
from tests.team import PASSWORD

CODE = "CODE"  # stands for the code of an open invitation
WORK = "WORK"  # for the assignment that ada has in hand


@dataclass(frozen=True)
class Form:
    """Who sends what where: the fields named take the hostile text, one at a time."""

    who: str  # empty: nobody is signed in
    address: str
    fields: tuple[str, ...]
    rest: Mapping[str, str] = field(default_factory=dict)


def forms_of(campaign: Campaign, keys: list[str]) -> Iterator[Form]:
    """`keys` are those of the items that ada has in hand."""
    yield Form("", "/sign-in", ("username", "password", "next"))
    yield Form(
        "",
        f"/join/{CODE}",
        ("username", "password1", "password2"),
        {"username": "carol", "password1": PASSWORD, "password2": "another"},
    )
    yield Form("ada", "/password", ("old_password", "new_password1", "new_password2"))
    yield Form("ada", f"/work/{WORK}/renew", ("x",))
    sheet = {f"item-{key}": "0" for key in keys}
    reports = (f"report-{keys[0]}", f"report-text-{keys[0]}")
    # With an answer missing the page comes back and shows what was sent.
    some = {f"item-{key}": "0" for key in keys[1:]}
    yield Form("ada", f"/work/{WORK}", (f"item-{keys[0]}", "signals", "x", *reports), some)
    practice = "/" + practice_url(campaign).partition("//")[2].partition("/")[2]
    yield Form("bob", practice, ("item-1", "practice-1", "workerId", "x"))
    yield Form("owner", "/team", ("note", "days", "uses"), {"note": "", "days": "1", "uses": "2"})
    instructions = f"/campaigns/{campaign.name}/instructions"
    yield Form("owner", instructions, ("text", "based_on"), {"based_on": "1", "preview": "1"})
    yield Form("owner", instructions, ("text", "based_on"), {"based_on": "1", "save": "1"})
    triplet = Triplet.objects.filter(campaign=campaign).earliest("pk")
    decision = {"triplet": str(triplet.pk), "label": "1", "note": ""}
    adjudicate = f"/campaigns/{campaign.name}/adjudicate?what=all"
    yield Form("owner", adjudicate, ("note", "triplet", "label"), decision)
    yield Form("owner", adjudicate, ("skip",), {"triplet": "1"})
    yield Form("ada", "/work/next", ("hit_type",))
    yield Form("ada", f"/work/{WORK}", reports, sheet | {"signals": "{}"})


def addresses_of(campaign: Campaign, text: str) -> Iterator[tuple[str, str]]:
    """(who, address) of each page whose address takes a text."""
    part = quote(text[:1500], safe="")
    for start, end in (
        ("/hit/", ""),
        ("/join/", ""),
        ("/practice/", ""),
        ("/campaigns/", "/people"),
        ("/campaigns/", "/adjudicate"),
        ("/campaigns/", "/instructions"),
        ("/team/members/", ""),
        ("/", ""),
    ):
        yield "owner", start + part + end
    for end in ("", "/return", "/renew"):
        yield "ada", f"/work/{part}{end}"
    yield "ada", f"/work/instructions/{part}"
    name = campaign.name
    yield "", f"/sign-in?next={part}"
    for query in (
        f"people?sort={part}",
        f"people?page={part}&items={part}",
        f"adjudicate?what={part}",
        f"adjudicate?what=all&decided={part}",
        f"instructions?version={part}",
    ):
        yield "owner", f"/campaigns/{name}/{query}"


def pages_of(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """(who, address) of the pages that show what has been sent."""
    name = campaign.name
    for page in ("", "people", "adjudicate?what=all", "instructions"):
        yield "owner", f"/campaigns/{name}/{page}" if page else "/"
    yield "owner", "/team"
    yield "ada", "/work"
    yield "ada", f"/work/instructions/{name}"
