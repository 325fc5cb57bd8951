"""Every page that `benchmarks.dashboard` asks for: who asks, and the address."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from annotation.models import Assignment, AuditEntry, Campaign, Control, ControlCandidate
from annotation.operations.registry import OPERATIONS
from annotation.pipeline.setup.create import get_campaign
from benchmarks.campaign.inputs import NAME
from benchmarks.dashboard.addresses import (
    NOTHING,
    Page,
    address,
    busiest,
    database,
    program,
    records,
    releases,
)
from benchmarks.dashboard.inputs import FINISHED, OWNER, PILOT, ROOT

CHARTS = ("labels", "agreement", "kappa", "control-failures", "money", "ranks", "votes")


def main() -> None:
    print(json.dumps([asdict(page) for page in pages()]))


def pages() -> Iterator[Page]:
    paper, finished = get_campaign(NAME), get_campaign(FINISHED)
    words = frequent_words(paper)
    yield from _overviews(paper, finished)
    yield from _lists(paper, words)
    yield from _records(paper)
    yield from _operations(paper)
    yield from _workers(paper)
    yield from _logs(paper)
    yield from releases(finished)
    yield from database()
    yield from records()
    yield from program(paper)


def frequent_words(campaign: Campaign) -> Mapping[str, str]:
    """A word that comes often in the campaign's texts, and one that comes once or twice."""
    counts: Counter[str] = Counter()
    for text in campaign.query_set.queries.values_list("text", flat=True):
        counts.update(word for word in text.split() if len(word) > 3)
    ranked = [word for word, _ in counts.most_common()]
    return {"a common word": ranked[0], "a rare word": ranked[-1], "no word there is": NOTHING}


def _overviews(paper: Campaign, finished: Campaign) -> Iterator[Page]:
    yield Page("campaigns", OWNER, address("dashboard"))
    yield Page("campaigns, second page", OWNER, address("dashboard", before=8))
    yield Page("campaigns, as superuser", ROOT, address("dashboard"))
    for campaign in (paper, finished):
        of = "" if campaign == paper else f" of {FINISHED}"
        for title, name in (
            ("overview", "campaign"),
            ("overview's moving part", "campaign-live"),
            ("milestones", "campaign-milestones"),
            ("review", "campaign-review"),
            ("campaign's controls", "campaign-controls"),
            ("workers", "campaign-workers"),
        ):
            yield Page(title + of, OWNER, address(name, campaign))
    for key in CHARTS:
        yield Page(f"chart as CSV: {key}", OWNER, address("campaign-chart", paper, key))
    for title, name in (
        ("dry-run", "campaign-dry-run"),
        ("instructions", "instructions"),
        ("roles", "campaign-roles"),
        ("expert's page", "adjudicate"),
    ):
        yield Page(title, OWNER, address(name, paper))
    yield Page("publish", OWNER, address("campaign-publish", paper), "refusal")
    yield Page(
        "expert's page, disagreements", OWNER, address("adjudicate", paper, what="disagreement")
    )
    yield Page("new campaign", ROOT, address("campaign-new"))
    yield Page("pilots", OWNER, address("pilots"))
    yield Page("pilot", ROOT, address("pilot", PILOT))


def _lists(paper: Campaign, words: Mapping[str, str]) -> Iterator[Page]:
    far = paper.triplets.order_by("-pk").values_list("pk", flat=True)[100_000 * _share(paper)]
    last = paper.hits.order_by("-number").values_list("number", flat=True)[0]
    filters: Mapping[str, list[Mapping[str, object]]] = {
        "triplets": [
            {},
            {"from": far},
            *({"status": status} for status in ("open", "labelled", "unresolved")),
            *({"label": label} for label in ("1", "0", "none")),
            {"votes": 3},
            {"votes": 99},
            {"from_rank": 29},
            {"status": "unresolved", "from_rank": 30, "to_rank": 30},
            {"status": "unresolved", "sort": "question"},
            {"sort": "question"},
            {"q": far},
        ],
        "hits": [
            {},
            {"from": last // 2},
            *({"state": state} for state in ("planned", "open", "full", "expired", "faulty")),
            {"round": "repack"},
            {"sort": "-submitted"},
            {"q": last},
            {"q": NOTHING},
        ],
        "assignments": [
            {},
            {"from": last // 2},
            *({"status": status} for status in ("submitted", "approved", "rejected")),
            *({"passed": passed} for passed in ("yes", "no", "none")),
            {"worker": busiest(paper)},
            {"worker": NOTHING},
            {"hit": last // 2},
            {"sort": "-worker"},
            {"q": NOTHING},
        ],
    }
    for kind, every in filters.items():
        for asked in every:
            yield Page(_named(kind, asked), OWNER, address(f"campaign-{kind}", paper, **asked))
    for title, word in words.items():
        for within in ("query", "question"):
            path = address("campaign-triplets", paper, q=word, within=within)
            yield Page(f"triplets, {title} in a {within}", OWNER, path)


def _share(paper: Campaign) -> int:
    """1 at the paper's size; a small trial has no such far page."""
    return int(paper.triplets.order_by("pk")[100_000:100_001].exists())


def _named(kind: str, asked: Mapping[str, object]) -> str:
    parts = ("a far page" if key == "from" else f"{key}={value}" for key, value in asked.items())
    return ", ".join([kind, *parts])


def _records(paper: Campaign) -> Iterator[Page]:
    triplet = paper.triplets.filter(status="labelled", votes__gte=2)[0]
    unresolved = paper.triplets.filter(status="unresolved")[0]
    hit = paper.hits.filter(repack=False)[5]
    control = Control.objects.filter(campaign=None)[0]
    yield Page("triplet", OWNER, address("campaign-triplet", paper, triplet.pk))
    yield Page("unresolved triplet", OWNER, address("campaign-triplet", paper, unresolved.pk))
    yield Page("HIT", OWNER, address("campaign-hit", paper, hit.pk))
    yield Page("controls", OWNER, address("controls"))
    yield Page("controls, a search", OWNER, address("controls", q="what"))
    yield Page("control", OWNER, address("control", control.pk))
    negative = paper.controls.all()[0]
    yield Page("campaign's control", OWNER, address("campaign-control", paper, negative.pk))
    candidate = ControlCandidate.objects.filter(triplet__campaign=paper).first()
    if candidate:
        link = address("operation", paper, "confirm-control", triplet=candidate.triplet_id)
        yield Page("control candidate", ROOT, link)
    yield Page("new control", ROOT, address("database-operation", "add-control"))
    yield Page("controls from a file", ROOT, address("import-controls"))


def _operations(paper: Campaign) -> Iterator[Page]:
    """Each as a reader first sees it, and with what follows from it where a link may ask so."""
    work = Assignment.objects.filter(hit__campaign=paper, status="approved")[0]
    given = {
        "worker": busiest(paper),
        "assignment": work.crowd_id,
        "reason": "why",
        "text": "words",
    }
    given |= {"amount": "100000", "days": "3", "cents": "50"}
    given |= {"username": OWNER, "role": "viewer"}
    for name, operation in OPERATIONS.items():
        who = ROOT if operation.everywhere else OWNER
        yield Page(f"operation {name}", who, address("operation", paper, name), "refusal")
        if operation.arguments:
            asked = {field.name: given.get(field.name, "1") for field in operation.arguments}
            yield Page(
                f"operation {name}, preview",
                who,
                address("operation", paper, name, **asked),
                "refusal",
            )


def _workers(paper: Campaign) -> Iterator[Page]:
    figures = paper.worker_figures.order_by("-submitted", "pk")[0]
    yield Page("workers, page 20", OWNER, address("campaign-workers", paper, page=20))
    for sort in ("failed", "-agreement", "time", "wage", "worker"):
        yield Page(f"workers by {sort}", OWNER, address("campaign-workers", paper, sort=sort))
    for show in ("excluded", "near", "fast", "one-answer"):
        yield Page(f"workers, {show}", OWNER, address("campaign-workers", paper, show=show))
    for text in ("A00", NOTHING):
        yield Page(f"workers, search {text}", OWNER, address("campaign-workers", paper, q=text))
    yield Page("workers' times as CSV", OWNER, address("campaign-workers-csv", paper))
    yield Page("reported items", OWNER, address("campaign-reports", paper))
    for title, name in (
        ("worker", "campaign-worker"),
        ("worker's exclusion-impact", "campaign-worker-exclusion-impact"),
        ("worker's controls as CSV", "campaign-worker-csv"),
    ):
        yield Page(title, OWNER, address(name, paper, figures.worker_id))


def _logs(paper: Campaign) -> Iterator[Page]:
    far = AuditEntry.objects.order_by("-at")[min(100_000, AuditEntry.objects.count() - 1)]
    before = f"{far.at.isoformat()},{far.pk}"
    filters: list[Mapping[str, object]] = [
        {},
        {"before": before},
        {"verb": "cancel"},
        {"verb": NOTHING},
        {"actor": OWNER},
        {"actor": NOTHING},
        {"via": "command"},
        {"verb": "cancel", "via": "api", "actor": OWNER},
        {"since": "2020-01-01", "until": "2020-02-01"},
        {"as": "csv"},
    ]
    for asked in filters:
        words = {"a far page": ""} if "before" in asked else asked
        named = ", ".join(f"{key}={value}" if value else key for key, value in words.items())
        kind = "file" if "as" in asked else "page"
        path = address("campaign-log", paper, **asked)
        yield Page(f"campaign's log {named}".strip(), OWNER, path, kind)
        yield Page(f"log {named}".strip(), ROOT, address("log", **asked), kind)
    yield Page("log, as owner", OWNER, address("log"))
    yield Page("log, as owner, verb=cancel", OWNER, address("log", verb="cancel"))


if __name__ == "__main__":
    main()
