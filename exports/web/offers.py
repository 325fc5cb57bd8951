"""A release's files as its page offers them: by format, each by a link of the reader's own."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count

from exports.delivery.signed_links import link, name_of
from exports.formats.lazy import groups
from exports.layout.files import ARCHIVE_SUFFIX
from exports.models import Release

PLOTS = {
    "positives-by-rank": (
        "Positives by rank",
        "How many of the candidates at each rank of the retriever are positive.",
    ),
    "hit-at-k": (
        "Hit@k of the retriever",
        "How many of the queries have a positive among the retriever's first k candidates.",
    ),
    "agreement-by-worker": (
        "Agreement by worker",
        "How often each worker's votes agree with the majority of the others.",
    ),
    "split-similarity": (
        "Train and test",
        "How near the queries of test are to those of train, compared with a random split.",
    ),
}
AS_IMPORTED = {
    "positives-by-rank": (
        "Positives by rank",
        "How many of the candidates at each rank, as imported, are positive.",
    ),
    "hit-at-k": (
        "Hit@k of the imported order",
        "How many of the queries have a positive among the first k candidates as imported.",
    ),
}


@dataclass(frozen=True)
class Offer:
    path: str
    name: str
    bytes: int
    sha256: str
    downloads: int
    href: str


@dataclass(frozen=True)
class Format:
    title: str
    words: str
    offers: Sequence[Offer]

    @property
    def bytes(self) -> int:
        return sum(offer.bytes for offer in self.offers)


@dataclass(frozen=True)
class Plot:
    name: str
    dark: str  # the same for dark pages; empty where there is none
    title: str
    words: str


def offers_of(release: Release, user: User) -> list[Offer]:
    files = release.files.annotate(fetched=Count("downloads")).order_by("path")
    return [
        Offer(file.path, name_of(file), file.bytes, file.sha256, file.fetched, link(file, user))
        for file in files
    ]


def archive_of(offers: Sequence[Offer]) -> Offer | None:
    return next((offer for offer in offers if offer.path.endswith(ARCHIVE_SUFFIX)), None)


def formats_of(offers: Sequence[Offer]) -> list[Format]:
    """All but the archive, which stands above them."""
    by_path = {one.path: one for one in offers if not one.path.endswith(ARCHIVE_SUFFIX)}
    return [
        Format(group.title, group.words, [by_path[path] for path in group.paths])
        for group in groups(by_path)
    ]


def plots_of(offers: Sequence[Offer], *, retrieved: bool) -> list[Plot]:
    paths = {offer.path for offer in offers}
    return [
        Plot(name, f"{name}-dark" if f"plots/{name}-dark.svg" in paths else "", title, words)
        for name, (title, words) in (PLOTS if retrieved else PLOTS | AS_IMPORTED).items()
        if f"plots/{name}.svg" in paths
    ]
