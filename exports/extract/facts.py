"""What no file of a release can prove: the policy, the seeds, the sources, what was paid beside."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db.models import Count

from annotation.analytics.campaign.progress import assignment_counts, spent_cents
from annotation.models import Aggregation, Campaign, Hit, Instructions
from annotation.pipeline.ledger.settlements import excluded_workers
from exports.layout.files import CAMPAIGN
from exports.layout.manifest import ERRORS, PRIOR, has_rank_prior, is_aggregated
from exports.layout.schemas import first_hit
from retrieval.models import Candidate, Corpus, QaPair
from retrieval.models.corpus import name_of, sources_of
from retrieval.ranking.records import document

INSTRUCTIONS = "instructions"
AGGREGATION = (
    "aggregator",
    "why",
    "known",
    "offset",
    "slope",
    *ERRORS,
    "sampled",
)


def write_facts(
    campaigns: Sequence[Campaign],
    folder: Path,
    workers: Mapping[int, str],
    *,
    triplets: Mapping[str, int],
    work_cents: Mapping[int, int],
) -> None:
    """`work_cents`: what each campaign's assignments cost."""
    campaign = campaigns[0]
    crowds = [
        _crowd(each, place, workers, work_cents[each.pk]) for place, each in enumerate(campaigns)
    ]
    excluded = sorted(name for each in crowds for name in each["excluded_workers"])
    facts = {
        **plan(campaign),
        "corpus": _corpus(campaign.query_set.corpus),
        "retriever": _retriever(campaign),
        "instructions": list(_write_instructions(campaigns, folder / INSTRUCTIONS)),
        "sources": _sources(campaign),
        "triplets": dict(triplets),
        "excluded_workers": excluded,
        "rejection_reasons": assignment_counts(*campaigns)["rejection_reasons"],
        "cost_cents": sum(each["cost_cents"] for each in crowds),
        "bonus_cents": sum(each["bonus_cents"] for each in crowds),
        **_billed(sum(each.get("billed_cents", 0) for each in crowds)),
        **({"crowds": crowds} if len(crowds) > 1 else {}),
        **({"aggregation": _aggregation(campaigns)} if is_aggregated(plan(campaign)) else {}),
    }
    (folder / CAMPAIGN).write_bytes(document(facts))


def plan(campaign: Campaign) -> dict[str, object]:
    policy, queries = campaign.policy, campaign.query_set
    return {
        "campaign": campaign.name,
        "crowd": policy.crowd,
        "policy": policy.to_dict(),
        "policy_sha256": policy.digest(),
        "seeds": {"campaign": campaign.seed, "sample": queries.seed, "split": campaign.seed},
        "queries": {
            "origin": queries.origin,
            "duplicates_dropped": queries.duplicates,
            "total": queries.whole.count(),
            **({"retrievers": list(queries.pool)} if queries.pool else {}),
        },
    }


def _crowd(
    campaign: Campaign, place: int, workers: Mapping[int, str], work_cents: int
) -> dict[str, Any]:
    """What is its own: its queries are those that its workers alone have judged."""
    spent, billed = spent_cents(campaign)
    keys = campaign.query_set.queries.values_list("key", flat=True)
    return {
        "campaign": campaign.name,
        "crowd": campaign.policy.crowd,
        "policy": campaign.policy.to_dict(),
        "policy_sha256": campaign.policy.digest(),
        "seed": campaign.seed,
        "first_hit": first_hit(place),
        "excluded_workers": sorted(workers[worker] for worker in excluded_workers(campaign)),
        "cost_cents": spent,
        "bonus_cents": spent - billed - work_cents,
        **_billed(billed),
        "query_ids": sorted(keys),
    }


def _billed(cents: int) -> dict[str, int]:
    """Nothing where no bill of the crowd's own differs from the books."""
    return {"billed_cents": cents} if cents else {}


def _aggregation(campaigns: Sequence[Campaign]) -> list[dict[str, object]]:
    prior = PRIOR if has_rank_prior(plan(campaigns[0])) else ()
    of_these = Aggregation.objects.filter(campaign__in=campaigns)
    made = of_these.values("campaign", *AGGREGATION, *prior)
    by_campaign = {each.pop("campaign"): each for each in made}
    return [by_campaign[one.pk] for one in campaigns]


def _corpus(corpus: Corpus | None) -> dict[str, object]:
    """Of all pairs no sources are named: others that come later change nothing here."""
    return {"name": name_of(corpus), "sources": corpus and sources_of(corpus)}


def _retriever(campaign: Campaign) -> dict[str, object] | None:
    index = campaign.query_set.retrieved_with
    if index is None:
        return None
    return {
        "model": index.known_as,
        "form": index.form,
        "dimension": index.dimension,
        "pairs": index.pairs,
        "database_digest": index.database_digest,
        "model_fingerprint": index.manifest["model_fingerprint"],
        "versions": index.manifest["versions"],
    }


def _write_instructions(campaigns: Sequence[Campaign], folder: Path) -> Iterator[dict[str, object]]:
    """The wordings that the annotators read; those of a second crowd name its campaign."""
    folder.mkdir(exist_ok=True)
    hits = Hit.objects.filter(campaign__in=campaigns)
    read = Instructions.objects.filter(pk__in=hits.values("instructions"))
    for each in read.select_related("campaign").order_by("campaign", "version"):
        second = each.campaign if each.campaign != campaigns[0] else None
        name, text = f"{f'{second}-' if second else ''}{each.version}.md", each.text.encode()
        (folder / name).write_bytes(text)
        yield {
            "version": each.version,
            "file": f"{INSTRUCTIONS}/{name}",
            "sha256": hashlib.sha256(text).hexdigest(),
            **({"campaign": second.name} if second else {}),
        }


def _sources(campaign: Campaign) -> list[dict[str, object]]:
    """Where the candidates' pairs are from; a pair counts once, under however many queries."""
    shown = Candidate.objects.filter(query__in=campaign.query_set.whole).values("pair")
    rows = QaPair.objects.filter(pk__in=shown).order_by().values_list("source", "license")
    return [
        {"source": source, "license": license, "pairs": pairs}
        for source, license, pairs in sorted(rows.annotate(pairs=Count("pk")))
    ]
