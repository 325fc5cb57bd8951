"""What a reader of the figures must know, in sentences: trust, splits, changes, limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exports.card.words import UNDEFINED, count, decimal, percent, plural, rate
from exports.splits import SPLITS

Facts = Mapping[str, Any]


def trust(stats: Facts) -> Iterator[str]:
    campaign = stats["campaign"]
    if campaign["label_error"] is None:
        yield f"The label error is unknown: {campaign['label_error_reason']}."
    else:
        judged = plural(campaign["label_error_triplets"], "triplet")
        yield f"The label error is that of {judged}: {campaign['label_error_basis']}."
    if workers := stats.get("workers"):
        yield from _workers(workers, campaign)
    if controls := stats.get("controls"):
        yield _controls(controls)


def _workers(workers: Facts, campaign: Facts) -> Iterator[str]:
    # Without the annotators' tables, only what the labels' own counts of votes tell is there.
    if "gini" in workers:
        yield _votes(workers, campaign)
    yield (
        f"{plural(workers['robust_labels'], 'label')}, {percent(workers['robust_share'])} of those "
        "that votes made, stay as they are whichever single worker's votes are taken away."
    )


def _votes(workers: Facts, campaign: Facts) -> str:
    return (
        f"The valid votes came from {plural(workers['workers'], 'worker')}; "
        f"{plural(campaign['excluded_workers'], 'worker was', 'workers were')} excluded. The Gini "
        f"coefficient of their votes is {decimal(workers['gini'])} (0: all voted as often; near 1: "
        f"one did everything), and the busiest gave {percent(workers['top_share'])} of them."
    )


def _controls(controls: Facts) -> str:
    kinds = [
        f"{count(controls['missed'].get(kind, 0))} of {count(judged)} {kind} ones"
        for kind, judged in controls["judged"].items()
    ]
    inside = controls["inside_release"]
    return (
        f"Controls missed, by all who worked: {', '.join(kinds) or 'none was judged'}. "
        f"{'No control is' if not inside else plural(inside, 'control') + ' found'} among the "
        "released triplets."
    )


def splits(release: Facts, facts: Facts, stats: Facts) -> Iterator[str]:
    if release["options"]["split"] == "clusters":
        yield (
            "Queries that are near each other form a cluster, and a cluster lies in one split. "
            f"Near is: {_near(release['nearness'])}."
        )
    else:
        yield (
            "Queries were dealt to the splits at random, the paper's way: queries that are near to "
            "each other may lie in two of them, and scores on dev and test may be too good."
        )
    wanted = [f"{split} {_wanted(facts, split)}" for split in SPLITS]
    yield (
        f"Wanted: {', '.join(wanted)}. "
        "Dev and test take only queries all of whose candidates have a label, and as large a share "
        "of answerable ones as there is in all. A query keeps its split in every later release; "
        "one that is no longer complete leaves dev or test and never moves."
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
    yield (
        "What similarity is left between each query of dev and test and the nearest of train "
        f"({similarity['measure']}): {'; '.join(ways) or UNDEFINED}."
    )


def changes(release: Facts, found: Facts) -> str:
    if release["previous"] is None:
        return "This is the first release of the campaign."
    labels, queries = found["labels"], found["queries"]
    return (
        f"Since release {release['previous']['number']}: labels {count(labels['added'])} added, "
        f"{count(labels['changed'])} changed, {count(labels['withdrawn'])} withdrawn; queries "
        f"{count(queries['added'])} added, {count(queries['withdrawn'])} withdrawn, "
        f"{count(queries['moved'])} moved to another split. changes.jsonl lists each that is no "
        "longer as it was."
    )


def limits(release: Facts, facts: Facts) -> Iterator[str]:
    policy = facts["policy"]
    least, most = policy["annotators"], policy["max_votes"]
    yield (
        f"A label is the majority of {least if least == most else f'{least} to {most}'} votes of "
        "people, not the truth; the field votes says how clear each was."
    )
    yield _unjudged(facts)
    yield (
        "A rank tells something of the label (see the positives by rank): do not give rank or "
        "score to a model that is to be compared with others."
    )
    yield (
        "The answers are those of the database: they may be wrong, and no label says whether they "
        "are right."
    )
    yield "Candidates without a label are left out: in train, ranks may have gaps."
    yield "The language of the texts is not recorded."
    yield (
        "Workers stand as salted hashes, the same in all releases of this campaign; they cannot be "
        "joined with another campaign's."
    )
    yield from _limits_of_this_one(release["options"], facts)


def _unjudged(facts: Facts) -> str:
    wanted = count(facts["policy"]["candidates_per_query"])
    imported = facts["queries"]["origin"] == "import"
    which = "candidates that came with the dataset" if imported else f"{wanted} of one retriever"
    return (
        f"Of all question/answer pairs only the {which} were judged. Others that ask the same are "
        "in no file: a system that finds them is not rewarded, and one that ranks much as the "
        "candidates were found may look better than it is."
    )


def _limits_of_this_one(options: Facts, facts: Facts) -> Iterator[str]:
    if facts["queries"]["origin"] == "import":
        yield (
            "Labels were imported: what made them is not in this release, they have no votes, and "
            "the number of candidates differs from query to query."
        )
    if not options["judgments"]:
        yield (
            "The judgments are left out: figures of the annotators' work cannot be recomputed from "
            "the files."
        )
    if options["partial"]:
        yield "The release is partial: the campaign was not finished when it was built."
    if options["split"] == "random":
        yield "The splits are random: near-duplicates of queries of train may lie in dev and test."
