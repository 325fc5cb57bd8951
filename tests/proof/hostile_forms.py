"""Every field of every page, as a browser that lies would fill it in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from django.urls import reverse

from annotation.crowd.qualification_url import qualification_test_url
from annotation.models import Campaign, Triplet
from annotation.pipeline.adjudicate import Pile, What
from annotation.pipeline.manual.qualification import items_of_try
from tests.worlds.hostile_work import EXPERT
from tests.worlds.team import PASSWORD

CODE = "CODE"  # stands for the code of an open invitation
WORK = "WORK"  # for the assignment that ada has in hand
# Whose they are: the sample is a blind expert's, and experts who measure decide no ties.
PILES = {what: EXPERT if what == What.SAMPLE else "owner" for what in What if what != What.OPEN}


@dataclass(frozen=True)
class Form:
    """Who sends what where: the fields named take the hostile text, one at a time.

    Sent with all the attacks it must get each of the answers expected, and no other one.
    """

    who: str  # empty: nobody is signed in
    address: str
    fields: tuple[str, ...]
    expects: frozenset[int]
    rest: Mapping[str, str] = field(default_factory=dict)


def forms_of(campaign: Campaign, keys: list[str]) -> Iterator[Form]:
    """`keys` are those of the items that ada has in hand; hers is submitted last."""
    yield from _forms_of_strangers()
    yield from _forms_of_qualification(campaign)
    yield from _forms_of_owner(campaign)
    yield from _forms_of_experts(campaign)
    yield Form(
        "ada",
        "/password",
        ("old_password", "new_password1", "new_password2"),
        frozenset({200}),
    )
    yield Form("ada", f"/work/{WORK}/renew", ("x",), frozenset({200}))
    reports = (f"report-{keys[0]}", f"report-text-{keys[0]}")
    # With an answer missing the page comes back and shows what was sent.
    some = {f"item-{key}": "0" for key in keys[1:]}
    fields = (f"item-{keys[0]}", "behaviour", "x", *reports)
    yield Form("ada", f"/work/{WORK}", fields, frozenset({422}), some)
    yield Form("ada", "/work/next", ("hit_type",), frozenset({404}))
    sheet = {f"item-{key}": "0" for key in keys} | {"behaviour": "{}"}
    yield Form("ada", f"/work/{WORK}", reports, frozenset({303}), sheet)


def _forms_of_strangers() -> Iterator[Form]:
    tried = frozenset({200, 429})  # from one address, one name cannot be tried for ever
    yield Form("", "/sign-in", ("username", "password", "next"), tried)
    yield Form(
        "",
        f"/join/{CODE}",
        ("username", "password1", "password2"),
        frozenset({422}),
        {"username": "carol", "password1": PASSWORD, "password2": "another"},
    )


def _forms_of_qualification(campaign: Campaign) -> Iterator[Form]:
    address = qualification_path(campaign)
    yield Form("eve", address, ("item-1", "qualification-1", "workerId", "x"), frozenset({422}))
    yield Form("eve", address, ("workerId", "x"), frozenset({200}), all_yes(campaign))


def qualification_path(campaign: Campaign) -> str:
    return "/" + qualification_test_url(campaign).partition("//")[2].partition("/")[2]


def all_yes(campaign: Campaign) -> dict[str, str]:
    """Half of it is wrong: the feedback comes."""
    return {f"item-{one.position}": "1" for one in items_of_try(campaign, 0)}


def _forms_of_owner(campaign: Campaign) -> Iterator[Form]:
    numbers = {"days": "1", "uses": "2"}
    yield Form("owner", "/team", ("note",), frozenset({200, 422}), numbers)
    yield Form("owner", "/team", ("days",), frozenset({422}), {"note": "", "uses": "2"})
    yield Form("owner", "/team", ("uses",), frozenset({422}), {"note": "", "days": "1"})
    address = f"/campaigns/{campaign.name}/instructions"
    for suffix, answers in (("preview", {200, 422}), ("save", {200, 409, 422})):
        rest = {"based_on": "1", suffix: "1", "text": "# Rules"}
        yield Form("owner", address, ("text", "based_on"), frozenset(answers), rest)


def _forms_of_experts(campaign: Campaign) -> Iterator[Form]:
    for what, who in PILES.items():
        address = f"/campaigns/{campaign.name}/adjudicate?what={what}"
        decision = {"triplet": str(_triplet(campaign, what, who).pk), "label": "1", "note": ""}
        if what == What.REPORTED:
            yield Form("owner", address, ("triplet",), frozenset({404}), decision)
            yield Form("owner", address, ("label",), frozenset({422}), decision)
            yield Form("owner", address, ("skip",), frozenset({303}), decision)
        # Of notes only what is too long is refused; one that was typed before a skip comes back.
        skip = decision | {"skip": "1"}
        yield Form(who, address, ("note",), frozenset({303, 422}), skip)
        yield Form(who, address, ("note",), frozenset({303, 422}), decision)


def _triplet(campaign: Campaign, what: What, who: str) -> Triplet:
    """The one that the page asks for; of the sample it takes no other."""
    triplet = Pile(campaign, what, expert=who, worker_id=None).next([])
    assert triplet
    return triplet


def addresses_of(campaign: Campaign, text: str) -> Iterator[tuple[str, str, int]]:
    """(who, address, status) of each page whose address takes a text."""
    part = quote(text[:1500], safe="")
    for start, end in (
        ("/hit/", ""),
        ("/join/", ""),
        ("/qualification/", ""),
        ("/admin/campaigns/", "/workers/"),
        ("/campaigns/", "/adjudicate"),
        ("/campaigns/", "/instructions"),
        ("/team/members/", ""),
        ("/", ""),
    ):
        yield "owner", start + part + end, 404
    for end in ("", "/return", "/renew"):
        yield "ada", f"/work/{part}{end}", 404
    yield "ada", f"/work/instructions/{part}", 404
    name = campaign.name
    yield "", f"/sign-in?next={part}", 200
    for query, status in (
        (f"adjudicate?what={part}", 404),
        (f"adjudicate?what=reported&decided={part}", 200),
        (f"instructions?version={part}", 200),
    ):
        yield "owner", f"/campaigns/{name}/{query}", status
    for query in (f"sort={part}&q={part}&show={part}", f"page={part}"):
        yield "owner", f"/admin/campaigns/{name}/workers/?{query}", 200


def pages_of(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """(who, address) of the pages that show what has been sent."""
    name = campaign.name
    for what, who in PILES.items():
        yield who, f"/campaigns/{name}/adjudicate?what={what}"
    yield "owner", f"/campaigns/{name}/instructions"
    pages = (
        "campaign", "campaign-review", "campaign-triplets", "campaign-hits", "campaign-assignments",
        "campaign-workers", "campaign-reports", "campaign-controls", "campaign-log",
    )  # fmt: skip
    for page in pages:
        yield "owner", reverse(page, args=[name])
    yield "owner", reverse("dashboard")
    yield "owner", "/team"
    yield "ada", "/work"
    yield "ada", f"/work/instructions/{name}"
    yield "ada", qualification_path(campaign)  # let in
    yield "eve", qualification_path(campaign)
