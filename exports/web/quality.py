"""How far a release's labels can be trusted: a row a measure, with what it says."""

from collections.abc import Iterator, Mapping
from typing import Any

from exports.card.tables import KINDS
from exports.web.tables import Cell, Row, Table, at, count, decimal, interval, share

HEADINGS = ("Value, 95% interval",)


def quality_table(stats: object) -> Table:
    rows = [*_agreement(at(stats, "agreement")), *_label_error(at(stats, "campaign"))]
    rows += _certificate(at(stats, "certificate"))
    rows += [*_workers(at(stats, "workers")), *_controls(at(stats, "controls"))]
    return Table("quality", "Agreement and label error", HEADINGS, rows)


def _agreement(figures: object) -> Iterator[Row]:
    if not isinstance(figures, Mapping):
        return
    for key, name, says in (
        ("agreement", "First two votes agree", "of the triplets with two valid votes"),
        ("kappa", "Cohen's kappa", "of the first two votes, corrected for chance"),
        ("alpha", "Krippendorff's alpha", "of all valid votes, corrected for chance"),
    ):
        is_share = key == "agreement"
        value = share(figures.get(key)) if is_share else decimal(figures.get(key), 3)
        yield _row(name, value, interval(figures.get(f"{key}_interval"), shares=is_share), says)


def _label_error(campaign: object) -> Iterator[Row]:
    if not isinstance(campaign, Mapping) or "label_error" not in campaign:
        return
    if campaign["label_error"] is None:
        yield _row("Label error", "unknown", "", str(campaign.get("label_error_reason") or ""))
        return
    says = f"of {count(campaign.get('label_error_triplets'))} triplets that experts judged"
    ends = interval(campaign.get("label_error_interval"), shares=True)
    yield _row("Label error", share(campaign["label_error"]), ends, says)
    for key, name in KINDS.items():
        if kind := at(campaign, "label_error_kinds", key):
            ends = interval(at(kind, "interval"), shares=True)
            says = f"of {count(at(kind, 'triplets'))} that experts judged"
            yield _row(name, share(at(kind, "share")), ends, says)


def _certificate(certificate: object) -> Iterator[Row]:
    if isinstance(certificate, Mapping):
        says = f"with {share(certificate.get('confidence'), 0)} confidence"
        yield _row("Certified", f"at most {share(certificate.get('error'))} wrong", "", says)


def _workers(workers: object) -> Iterator[Row]:
    if not isinstance(workers, Mapping):
        return
    yield _row(
        "Robust labels",
        share(workers.get("robust_share")),
        "",
        "stay the same without any single worker's votes",
    )
    yield _row(
        "Concentration of votes",
        decimal(workers.get("gini"), 3),
        "",
        "Gini of the votes by worker: 0: evenly spread, 1: all by one",
    )
    yield _row("Busiest worker", share(workers.get("top_share")), "", "of all valid votes")


def _controls(controls: Any) -> Iterator[Row]:
    if not isinstance(controls, Mapping):
        return
    judged, missed = controls.get("judged"), controls.get("missed")
    for kind in ("positive", "negative"):
        if of := at(judged, kind):
            words = f"{count(at(missed, kind))} of {count(of)}"
            yield _row(f"{kind.capitalize()} controls missed", words, "", "by all workers")
    if controls.get("inside_release") is not None:
        yield _row("Controls in the release", count(controls["inside_release"]), "", "none may be")


def _row(name: str, value: str, ends: str, says: str) -> Row:
    return Row(name, [Cell(value, ends)], says)
