"""The other addresses of `benchmarks.dashboard.pages`: of no campaign, and the programs' ones."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import admin
from django.urls import reverse

from annotation.models import Assignment, Campaign, ExpertLabel
from benchmarks.campaign.inputs import NAME
from benchmarks.dashboard.inputs import FINISHED, OWNER, ROOT
from retrieval.jobs.import_files import KIND
from retrieval.models import IndexVersion, Job, QaPair

NOTHING = "nosuchword"


@dataclass(frozen=True)
class Page:
    name: str
    who: str
    path: str
    kind: str = "page"  # or file: sent as it is read; or refusal: a sentence why it cannot be done


def address(name: str, *args: object, **asked: object) -> str:
    return reverse(name, args=args) + (f"?{urlencode(asked)}" if asked else "")


def busiest(campaign: Campaign) -> str:
    """Its worker who has submitted most."""
    figures = campaign.worker_figures.select_related("worker").order_by("-submitted", "pk")[0]
    return figures.worker.worker_id


def releases(finished: Campaign) -> Iterator[Page]:
    yield Page("releases", OWNER, address("releases"))
    for campaign in (NAME, FINISHED):
        yield Page(f"releases of {campaign}", OWNER, address("campaign-releases", campaign))
    for release in finished.releases.all():
        yield Page("release", OWNER, address("release", finished, release.number))


def database() -> Iterator[Page]:
    middle = QaPair.objects.filter(source="more").order_by("source_id").first()
    assert middle is not None
    imported = Job.objects.filter(kind=KIND)[0]
    yield Page("q/a database", ROOT, address("database"))
    yield Page("import", ROOT, address("database-import"))
    yield Page("imported", ROOT, address("database-imported", imported.pk))
    yield Page("pairs of a source", ROOT, address("database-pairs", source="more"))
    yield Page(
        "pairs of a source, a far page", ROOT, address("database-pairs", source="more", after="m5")
    )
    yield Page("pair", ROOT, address("database-pair", middle.pk))
    yield Page("search", ROOT, address("database-search"))
    yield Page("search by id", ROOT, address("database-search", by="id", q="m77"))
    yield Page("search by id, none", ROOT, address("database-search", by="id", q=NOTHING))
    yield Page("job", ROOT, address("job", Job.objects.filter(kind="collect")[0].pk))
    yield Page("lockouts", ROOT, address("lockouts"))
    yield Page("team", ROOT, address("team"))
    yield Page("metrics", ROOT, address("metrics"))


def records() -> Iterator[Page]:
    """Django's own lists and records: the first page, a far one, each filter, a search."""
    yield Page("administration", ROOT, reverse("admin:index"))
    for model, its in admin.site._registry.items():
        name = model._meta.verbose_name_plural
        label = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        path = reverse(f"{label}_changelist")
        yield Page(f"admin {name}", ROOT, path)
        yield Page(f"admin {name}, page 20", ROOT, f"{path}?p=20")
        if its.search_fields:
            yield Page(f"admin {name}, search {NOTHING}", ROOT, f"{path}?q={NOTHING}")
        newest = model._default_manager.order_by("-pk").first()
        if newest:
            yield Page(f"admin {name}, one", ROOT, reverse(f"{label}_change", args=[newest.pk]))


def program(paper: Campaign) -> Iterator[Page]:
    hit = paper.hits.filter(repack=False)[5]
    label = ExpertLabel.objects.filter(triplet__campaign=paper)[0]
    work = Assignment.objects.filter(hit=hit)[0]
    triplet = paper.triplets.order_by("-pk")[0]
    worker = busiest(paper)
    plain = ("me", "tokens", "jobs", "log", "campaigns", "releases", "schema")
    own = (
        "", "/policy", "/cost-estimate", "/hits", f"/hits/{hit.number}", "/hits?state=planned",
        "/hits?round=repack", "/assignments", "/assignments?status=submitted",
        "/assignments?passed=no", f"/assignments?worker={worker}",
        f"/assignments?worker={NOTHING}", f"/assignments?hit={hit.number}",
        f"/assignments/{work.pk}", "/workers", f"/workers/{worker}",
        "/triplets", "/triplets?status=unresolved", "/triplets?label=1", "/triplets?query=q000077",
        f"/triplets?query={NOTHING}", f"/triplets/{triplet.pk}", "/labels", "/labels?label=1",
        "/expert-labels", "/expert-labels?expert=ada", "/expert-labels/next",
        f"/expert-labels/{label.pk}", "/builds",
    )  # fmt: skip
    for path in plain:
        yield Page(f"api {path}", OWNER, f"/api/v1/{path}")
    for path in own:
        yield Page(f"api campaign{path}", OWNER, f"/api/v1/campaigns/{paper}{path}")
    for kind, last in (("triplets", triplet.pk - 60), ("assignments", work.pk)):
        cursor = b64encode(f"p={last}".encode()).decode()
        path = f"/api/v1/campaigns/{paper}/{kind}?{urlencode({'cursor': cursor})}"
        yield Page(f"api campaign/{kind}, a far page", OWNER, path)
    for asked in ("verb=cancel", f"verb={NOTHING}", "via=command", f"actor={NOTHING}"):
        yield Page(f"api log?{asked}", OWNER, f"/api/v1/log?{asked}")
    index = IndexVersion.objects.order_by("-pk")[0]
    for path in ("sources", "sources/more", "indexes", f"indexes/{index.pk}"):
        yield Page(f"api {path}", ROOT, f"/api/v1/{path}")
