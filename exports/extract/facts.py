"""What no file of a release can prove: the policy, the seeds, the sources, what was paid beside."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from django.db.models import Count

from annotation.analytics.campaign.progress import assignment_counts, spent_cents
from annotation.models import Campaign, Instructions
from annotation.pipeline.ledger.settlements import excluded_workers
from exports.layout.files import CAMPAIGN
from retrieval.models import Candidate, Corpus, QaPair
from retrieval.models.corpus import name_of, sources_of
from retrieval.ranking.records import document

INSTRUCTIONS = "instructions"


def write_facts(
    campaign: Campaign,
    folder: Path,
    workers: Mapping[int, str],
    *,
    triplets: Mapping[str, int],
    work_cents: int,
) -> None:
    spent = spent_cents(campaign)
    facts = {
        **plan(campaign),
        "corpus": _corpus(campaign.query_set.corpus),
        "retriever": _retriever(campaign),
        "instructions": _write_instructions(campaign, folder / INSTRUCTIONS),
        "sources": _sources(campaign),
        "triplets": dict(triplets),
        "excluded_workers": sorted(workers[worker] for worker in excluded_workers(campaign)),
        "rejection_reasons": assignment_counts(campaign)["rejection_reasons"],
        "cost_cents": spent,
        "bonus_cents": spent - work_cents,
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
            "total": queries.queries.count(),
            **({"retrievers": list(queries.pool)} if queries.pool else {}),
        },
    }


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


def _write_instructions(campaign: Campaign, folder: Path) -> list[dict[str, object]]:
    """The wordings that the campaign's annotators read."""
    folder.mkdir(exist_ok=True)
    facts: list[dict[str, object]] = []
    read = Instructions.objects.filter(pk__in=campaign.hits.values("instructions"))
    for each in read.order_by("version"):
        name, text = f"{each.version}.md", each.text.encode()
        (folder / name).write_bytes(text)
        digest = hashlib.sha256(text).hexdigest()
        facts.append({"version": each.version, "file": f"{INSTRUCTIONS}/{name}", "sha256": digest})
    return facts


def _sources(campaign: Campaign) -> list[dict[str, object]]:
    """Where the candidates' pairs are from; a pair counts once, under however many queries."""
    shown = Candidate.objects.filter(query__query_set=campaign.query_set_id).values("pair")
    rows = QaPair.objects.filter(pk__in=shown).order_by().values_list("source", "license")
    return [
        {"source": source, "license": license, "pairs": pairs}
        for source, license, pairs in sorted(rows.annotate(pairs=Count("pk")))
    ]
