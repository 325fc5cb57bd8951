"""What a reader of the figures must know, in sentences: trust, splits, changes, limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annotation.protocol.policy.tasks import PAPER_TASK, task_of
from annotation.protocol.screening.behaviour import REASONS
from core.text.words import plural
from exports.card.origin import is_imported
from exports.card.words import count, decimal, percent, rate
from exports.layout.files import WITH_CANDIDATES
from exports.splits.splits import SPLITS

Facts = Mapping[str, Any]


def trust(facts: Facts, stats: Facts) -> Iterator[str]:
    campaign = stats["campaign"]
    if campaign["label_error"] is None:
        yield f"The label error is unknown: {campaign['label_error_reason']}."
    else:
        judged = plural(campaign["label_error_triplets"], "triplet")
        yield f"The label error is measured on {judged}: {campaign['label_error_basis']}."
        yield (
            "Labels of each kind count as often as they occur, those on which votes differ apart; "
            "if all were judged, their share of wrong ones would be in the interval in 95 of 100 "
            "such audits."
        )
    if "certificate" in stats:
        yield _certified(stats["certificate"])
    if facts["policy"]["adjudication"] == "decide":
        yield _adjudicated(stats["label_sources"])
    if "cannot_judge" in campaign:
        yield _cannot_judge(campaign["cannot_judge"])
    if workers := stats.get("workers"):
        yield from _workers(workers, campaign, facts["policy"]["annotators"])
    controls = stats.get("controls")
    if controls and any(controls["judged"].values()):
        yield _controls(controls)


def _certified(certificate: Facts) -> str:
    decided = certificate["decided_by_experts"]
    by_experts = f"experts decided {plural(decided, 'label')}, and " if decided else ""
    return (
        f"It is certified that at most {percent(certificate['error'])} of the "
        f"{plural(certificate['labels'], 'label')} are wrong: {by_experts}of "
        f"{count(certificate['judged_at_random'])} that experts judged at random "
        f"{count(certificate['wrong'])} were wrong. Of all campaigns with more wrong labels, at "
        f"most {percent(1 - certificate['confidence'], 0)} get such a certificate, however often "
        "they ask for it. It takes what experts say for the truth."
    )


def _adjudicated(sources: Facts) -> str:
    return (
        f"Experts who adjudicated decided {plural(sources['expert'], 'label')}, the votes made "
        f"{count(sources['majority'])}; label_source tells which. The label error is that of the "
        "votes, before experts decided."
    )


def _cannot_judge(said: Facts) -> str:
    answers = plural(said["answers"], "valid answer")
    why = "; ".join(
        f"{REASONS[reason].lower()}: {count(n)}" for reason, n in said["reasons"].items()
    )
    return (
        f"{answers} on {plural(said['triplets'], 'triplet')} said “can't judge”"
        f"{f' ({why})' if why else ''}; none of them is a vote."
    )


def _workers(workers: Facts, campaign: Facts, annotators: int) -> Iterator[str]:
    # Without the annotators' tables, only what the labels' own counts of votes tell is there.
    if workers.get("gini") is not None:
        yield _votes(workers, campaign)
    if workers["robust_share"] is None:
        return
    yield (
        f"{plural(workers['robust_labels'], 'label')}, {percent(workers['robust_share'])} of those "
        "made by votes, stay the same whichever single worker's votes are removed"
        f"{_all_alike(annotators)}."
    )


def _all_alike(annotators: int) -> str:
    if annotators < 2:
        return ""
    left = "one vote" if annotators == 2 else f"{annotators - 1} votes"
    return f"; {annotators}:0 counts as such, although {left} alone would make no label"


def _votes(workers: Facts, campaign: Facts) -> str:
    return (
        f"The valid votes came from {plural(workers['workers'], 'worker')}; "
        f"{plural(campaign['excluded_workers'], 'worker was', 'workers were')} excluded. The Gini "
        f"coefficient of their votes is {decimal(workers['gini'])} (0: all gave as many; near 1: "
        f"one gave nearly all), and the busiest gave {percent(workers['top_share'])} of them."
    )


def _controls(controls: Facts) -> str:
    kinds = [
        f"{count(controls['missed'].get(kind, 0))} of {count(judged)} {kind} ones"
        for kind, judged in controls["judged"].items()
        if judged
    ]
    inside = controls["inside_release"]
    return (
        f"Controls missed, by all workers: {', '.join(kinds)}. "
        f"{'No control is' if not inside else plural(inside, 'control') + ' found'} among the "
        "released triplets."
    )


def splits(release: Facts, facts: Facts, stats: Facts) -> Iterator[str]:
    by_clusters = release["options"]["split"] == "clusters"
    if by_clusters:
        yield (
            "Queries that are near each other form a cluster, and a cluster is in one split. "
            f"Near means: {_near(release['nearness'])}."
        )
    else:
        yield (
            "Queries were split at random, as in the paper: queries that are near each other may "
            "be in different splits, and scores on dev and test may be too high."
        )
    wanted = [f"{split} {_wanted(facts, split)}" for split in SPLITS]
    share = ", with the same share of answerable ones as in all" if by_clusters else ""
    yield (
        f"Wanted: {', '.join(wanted)}. "
        f"Dev and test take only queries all of whose candidates have a label{share}. A query "
        "keeps its split in every later release; if it is no longer complete, it leaves dev or "
        "test and never moves to another split."
    )
    if similarity := stats.get("similarity"):
        yield from _similarity(similarity)


def _near(nearness: Facts) -> str:
    vectors = f"embeddings with a cosine of {nearness['cosine']} or more"
    return (
        "the same normalised text, character trigrams in common (a Jaccard of "
        f"{nearness['jaccard']} or more), {vectors if nearness['vectors'] else 'no embeddings'}, "
        "or a positive in common"
    )


def _wanted(facts: Facts, split: str) -> str:
    size = facts["policy"][split]
    return count(size) if isinstance(size, int) else rate(size)


def _similarity(similarity: Facts) -> Iterator[str]:
    yield (
        f"There are {plural(similarity['clusters_of_queries'], 'cluster')} of queries, the largest "
        f"of {plural(similarity['largest_cluster'], 'query', 'queries')}."
    )
    ways = [
        f"{name} mean {similarity[way]['mean']:.3f}, highest {similarity[way]['max']:.3f}"
        for way, name in (("clusters", "split by clusters"), ("random", "split at random"))
        if (similarity.get(way) or {}).get("mean") is not None
    ]
    if ways:
        yield (
            "The similarity of each query of dev and test to the nearest of train "
            f"({similarity['measure']}): {'; '.join(ways)}."
        )


def changes(release: Facts, earlier: Facts) -> str:
    if release["previous"] is None:
        return "This is the first release of the campaign."
    labels, queries = earlier["labels"], earlier["queries"]
    return (
        f"Since release {release['previous']['number']}: labels {count(labels['added'])} added, "
        f"{count(labels['changed'])} changed, {count(labels['withdrawn'])} withdrawn; queries "
        f"{count(queries['added'])} added, {count(queries['withdrawn'])} withdrawn, "
        f"{count(queries['moved'])} moved to another split. changes.jsonl lists each changed or "
        "withdrawn one."
    )


def limits(release: Facts, facts: Facts, *, judged: bool) -> Iterator[str]:
    """`judged`: whether anybody worked on it here."""
    yield _label(facts, judged=judged)
    yield _unjudged(facts)
    if any(one.get("rank_slope") for one in facts.get("aggregation", ())):
        yield (
            "Labels lean to the retriever that chose the candidates: a high rank made a 1 likelier "
            "than its votes did. So comparing that retriever, or one much like it, with others on "
            "this set favours it."
        )
    yield (
        "A rank hints at the label (see the positives by rank): do not give rank or score to a "
        "model that you compare with others."
    )
    if task_of(facts["policy"]) == PAPER_TASK:
        yield (
            "The answers come from the database: they may be wrong, and no label says whether they "
            "are right."
        )
    yield "Candidates without a label are left out: in train, ranks may have gaps."
    yield "The language of the texts is not recorded."
    yield (
        "The files name people only by salted hashes. These are the same in all releases of this "
        "campaign, and cannot be joined with another campaign's."
    )
    yield from _limits_of_this_one(release["options"], facts)


def _label(facts: Facts, *, judged: bool) -> str:
    if not judged:
        return (
            "A label is what came with the dataset, not the truth; no votes show how clear it is."
        )
    least, most = facts["policy"]["annotators"], facts["policy"]["max_votes"]
    made = (
        "what an aggregator makes"
        if facts["policy"].get("aggregation") == "best"
        else "the majority"
    )
    votes = f"{made} of {least if least == most else f'{least} to {most}'} votes of people"
    if facts["policy"]["adjudication"] == "decide":
        votes += ", or what experts decided"
    if is_imported(facts):
        return (
            f"A label is what came with the dataset or {votes}, not the truth; the field votes "
            "shows how clear the latter were."
        )
    return f"A label is {votes}, not the truth; the field votes shows how clear it was."


def _unjudged(facts: Facts) -> str:
    pool = facts["queries"].get("retrievers", ())
    whose = "the pool of " + " and ".join(pool) if len(pool) > 1 else "one retriever"
    which = f"{count(facts['policy']['candidates_per_query'])} of {whose} were judged"
    if is_imported(facts):
        which = "candidates that came with the dataset have a label"
    elif facts["queries"]["origin"] in WITH_CANDIDATES:
        which = "candidates that the queries came with were judged"
    return (
        f"Of all question/answer pairs only the {which}. Others that "
        f"{task_of(facts['policy']).unjudged} are missing: a system that finds them is not "
        "rewarded, and one that ranks much like the retriever of the candidates may look better "
        "than it is."
    )


def _limits_of_this_one(options: Facts, facts: Facts) -> Iterator[str]:
    if is_imported(facts):
        yield (
            "Labels were imported: how they were made is not recorded, no votes for them are "
            "known, and the number of candidates differs from query to query."
        )
    if not options["judgments"]:
        yield (
            "The judgments are left out: figures of the annotators' work cannot be recomputed from "
            "the files."
        )
    if options["partial"]:
        yield "The release is partial: the campaign was not finished when it was built."
    if options["split"] == "random":
        yield "The splits are random: near-duplicates of queries of train may be in dev and test."
