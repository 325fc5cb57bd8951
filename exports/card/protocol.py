"""How a campaign's data was made, in sentences of its own policy's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from annotation.protocol.policy.crowds import CROWDS
from annotation.protocol.policy.policy import Policy, currency_of
from annotation.protocol.policy.tasks import task_of
from annotation.protocol.screening.control import RejectionReason
from core.text.words import plural
from exports.card.origin import is_imported, is_of_all
from exports.card.words import count, money, rate
from exports.layout.manifest import has_rank_prior
from retrieval.ranking.fusion import CONSTANT

Facts = Mapping[str, Any]  # campaign.json
FORMS = {
    "QQ": "the query against the question alone",
    "QQA": "the query against the question together with its answer",
}


def protocol(facts: Facts, *, judged: bool) -> list[str]:
    """`judged`: whether anybody worked on it here."""
    policy = facts["policy"]
    steps = [*_queries(facts), *_candidates(facts)]
    if is_imported(facts):
        steps.append(
            "The labels came with the dataset and were imported unchanged. Who made them, and how, "
            "is not recorded; no votes for them are known (yes 0, no 0)."
        )
    if not judged:
        return steps
    if is_imported(facts):
        steps.append(
            "Then triplets were judged here, by the steps below. A majority of these votes "
            "replaces the imported label; without a majority, that label stays."
        )
    steps += [_hits(policy), _votes(facts), _controls(facts), _exclusion(facts)]
    return [*steps, *_crowds(facts)]


def _queries(facts: Facts) -> Iterator[str]:
    queries = facts["queries"]
    total, dropped = plural(queries["total"], "query", "queries"), queries["duplicates_dropped"]
    if is_imported(facts):
        yield f"{total} came with a labelled dataset, together with their candidates."
        return
    seed = facts["seeds"]["sample"]
    if queries["origin"] == "answer":
        yield f"{total} came in a file, each with the answers to be judged."
        return
    if queries["origin"] == "pairs":
        pairs = plural(facts["triplets"]["triplets"], "pair")
        yield (
            f"{pairs} drawn at random (seed {seed}) from {_place(facts)}, each judged under its "
            f"own question: {total}."
        )
        return
    if queries["origin"] == "sample":
        yield (
            f"{total} drawn at random (seed {seed}) from the distinct normalised questions of "
            f"{_place(facts)}."
        )
    else:
        yield f"{total} given in a file; {plural(dropped, 'duplicate')} left out."
    yield (
        "Held-out queries: all copies of the queries' own questions were excluded from the index. "
        "Near-duplicates stayed: they are the positives."
    )


def _place(facts: Facts) -> str:
    return "the database" if is_of_all(facts) else f"the corpus {facts['corpus']['name']}"


def _candidates(facts: Facts) -> Iterator[str]:
    retriever, wanted = facts["retriever"], facts["policy"]["candidates_per_query"]
    if facts["queries"]["origin"] in ("answer", "pairs"):
        return
    if retriever is None:
        yield "Which retriever ranked the candidates is not recorded: ranks are as imported."
        return
    of = "" if is_of_all(facts) else f" of {_place(facts)}"
    form = FORMS.get(retriever["form"], "see the campaign's record")
    model = (
        f"{retriever['model']} in the form {retriever['form']} ({form}; "
        f"{count(retriever['dimension'])} dimensions) over {plural(retriever['pairs'], 'pair')}{of}"
    )
    if pool := facts["queries"].get("retrievers"):
        yield (
            f"Each query's {count(wanted)} candidates are those that {_best(pool)}: dense is "
            f"the cosine by the model {model}; bm25 matches words, in the same form."
        )
        return
    yield (
        f"Each query's candidates are the {count(wanted)} pairs of highest cosine, by the model "
        f"{model}."
    )


def _best(pool: Sequence[str]) -> str:
    if len(pool) == 1:
        return f"{pool[0]} ranks highest"
    return (
        f"{' and '.join(pool)} rank highest together, by reciprocal rank fusion of as many of each "
        f"(constant {CONSTANT})"
    )


def _hits(policy: Facts) -> str:
    positive, negative = policy["positive_controls"], policy["negative_controls"]
    real = policy["hit_size"] - positive - negative
    shown = (
        "The answer was shown as context" if policy["show_answer"] else "The answer was not shown"
    )
    if not task_of(policy).shows_question:
        shown = "Of each pair its answer alone was shown, not its question"
    return (
        f"Triplets were judged {policy['hit_size']} at a time: {real} real ones of different "
        f"queries and mixed ranks, {plural(positive, 'positive control')} and "
        f"{plural(negative, 'negative control')}, in an order drawn by a seed. {shown}."
        f"{_marks(policy)}"
    )


def _marks(policy: Facts) -> str:
    if "mark_differences" not in policy or not task_of(policy).shows_question:
        return ""  # of a release of before, or without a second question
    marked = "were marked" if policy["mark_differences"] else "were not marked"
    return f" Words that only one of the two questions has {marked}."


def _votes(facts: Facts) -> str:
    policy = facts["policy"]
    where = {
        "extend": "on the same HIT, all of whose items are then judged again",
        "repack": "in a new HIT with fresh controls",
    }[policy["tie_mode"]]
    unless = ""
    if policy["adjudication"] == "decide":
        unless = (
            ", unless experts adjudicated the triplet: then what most of them said is its label, "
            "and the votes stay beside it"
        )
    if policy.get("aggregation") == "best":
        return f"{_asked(policy, where)}{unless}.{_aggregated(facts)}{_cannot_judge(policy)}"
    return (
        f"Each triplet was judged by {policy['annotators']} different workers. Without a strict "
        f"majority one more vote was requested, {where}, up to {policy['max_votes']} votes. The "
        f"label is the strict majority of all valid votes{unless}; a triplet without one has no "
        f"label and is not released.{_cannot_judge(policy)}"
    )


def _asked(policy: Facts, where: str) -> str:
    sure = policy.get("wanted_confidence")
    lacking = (
        f"While its label was less sure than {sure:g}" if sure else "Without a strict majority"
    )
    return (
        f"Each triplet was judged by at least {plural(policy['annotators'], 'worker')}. {lacking}, "
        f"one more vote was requested, {where}, up to {policy['max_votes']} votes. The label is "
        "what the votes make by the campaign's aggregator"
    )


def _aggregated(facts: Facts) -> str:
    """Of each crowd, in the order of campaign.json."""
    named = "; ".join(f"{one['aggregator']}, as {one['why']}" for one in facts["aggregation"])
    shown = all(one["sampled"] is not None for one in facts["aggregation"])
    chance = (
        "posterior is the chance of a 1, as experts' blind labels of a random sample have it"
        if shown
        else "no chance is stated, for too few labels of experts are known"
    )
    return (
        f" The aggregator is the one that foretells known answers best: {named}. In each row "
        f"majority is what most votes say, and {chance}.{_ranked(facts)}"
    )


def _ranked(facts: Facts) -> str:
    if not has_rank_prior(facts):
        return ""
    begins = "; ".join(
        f"{one['prior']:.3f}, and {one['rank_slope']:.3f} times the logarithm of its rank"
        if one["rank_slope"]
        else f"{one['prior']:.3f} at any rank: the votes show no effect of ranks beyond chance"
        for one in facts["aggregation"]
    )
    return (
        " Ranks were given a say in the labels: before any vote, a candidate's log-odds of a 1, as "
        f"the aggregator counts them, are {begins}; both numbers are fitted to the votes."
    )


def _cannot_judge(policy: Facts) -> str:
    limit = policy.get("cannot_judge_limit")
    if limit is None:  # of a release of before
        return ""
    if not limit:
        return " Annotators answered Yes or No only."
    return (
        " Annotators could also answer that they can't judge a triplet, with a reason. Such an "
        f"answer is not a vote. After {limit} of them, a triplet without a majority was not given "
        "to more annotators."
    )


def _controls(facts: Facts) -> str:
    policy, counts = facts["policy"], facts["rejection_reasons"]
    fate = {
        "reject": "rejected and replaced by another worker's",
        "pay_and_discard": "paid, but its votes were discarded and replaced by another worker's",
    }[policy["on_failed_control"]]
    rules = [reason for reason in RejectionReason if reason.rule]
    failed = ", ".join(f"{count(counts[reason.key])} {reason.rule}" for reason in rules)
    return (
        f"An assignment that {' or '.join(reason.rule for reason in rules)} was {fate}. Of this "
        f"campaign's assignments, {failed}, and a person rejected "
        f"{count(counts[RejectionReason.MANUAL.key])} that passed."
    )


def _exclusion(facts: Facts) -> str:
    policy, excluded = facts["policy"], len(facts["excluded_workers"])
    allowed = rate(policy["max_failure_rate"])
    rule = (
        f"more than {allowed} of their reviewed assignments, of at least "
        f"{policy['min_assignments']}"
    )
    if policy.get("exclusion_rule") == "sequential":
        rule = (
            f"more of their reviewed assignments than is likely of somebody who fails {allowed} of "
            "them (a sequential test by e-values, which excludes at most 1 % of such workers)"
        )
    return (
        f"A worker who failed {rule}, was excluded {CROWDS[facts['crowd']].excludes}, and all "
        f"their votes were discarded: {plural(excluded, 'worker')} of this campaign."
    )


def _crowds(facts: Facts) -> Iterator[str]:
    """Who judged, or who judged what."""
    crowds = facts.get("crowds")
    if not crowds:
        yield _who(facts)
        return
    shares = [
        f"{plural(len(each['query_ids']), 'query', 'queries')} by {_named(each)}" for each in crowds
    ]
    yield (
        f"Different crowds judged different queries: {' and '.join(shares)}. No worker is in two "
        "of them, and in all the same votes make the same labels. campaign.json names the queries "
        f"of each; HITs from number {count(crowds[1]['first_hit'])} on are not the first crowd's."
    )
    for each in crowds:
        yield f"Campaign {each['campaign']}: {_who(each)}"


def _named(crowd: Facts) -> str:
    traits = CROWDS[crowd["crowd"]]
    people = "an in-house team" if traits.is_team else traits.title
    return f"{people} (campaign {crowd['campaign']})"


def _who(facts: Facts) -> str:
    """Of the campaign, or one of its crowds."""
    policy, crowd = facts["policy"], CROWDS[facts["crowd"]]
    who = f"The annotators were {crowd.came}"
    if not crowd.has_accounts:
        masters = "Masters, " if policy["masters"] else ""
        who += (
            f": {masters}at least {policy['min_approval_percent']}% of their work and at least "
            f"{count(policy['min_approved'])} assignments approved"
        )
    if policy["qualification_items"]:
        who += (
            ". Before their first HIT they took a qualification test of "
            f"{plural(policy['qualification_items'], 'item')}, "
            f"{policy['qualification_pass_percent']}% of which had to be right"
        )
    fee = Policy.from_dict(policy).fee or crowd.no_fee
    reward = (
        f" The reward was {money(policy['reward_cents'], currency_of(policy))} per {crowd.hit}; "
        f"the fee on top: {fee}."
        if policy["reward_cents"] and facts["cost_cents"]
        else ""
    )
    return (
        f"{who}.{reward} Work could be rejected ({crowd.rejects}), and a rejection overturned "
        f"{crowd.reverses}."
    )


def _billed(cents: int, sums: Callable[[int], str]) -> str:
    more = "more" if cents > 0 else "less"
    return f" The crowd's own bill was {sums(abs(cents))} {more}, which is included."


def cost(facts: Facts, *, judged: bool, by_votes: int) -> str:
    """`by_votes`: how many triplets of the release votes gave a label."""
    spent, bonuses, billed = facts["cost_cents"], facts["bonus_cents"], facts.get("billed_cents", 0)
    if not spent and not judged:
        return "Nobody judged here. The cost of the imported labels is not recorded."
    if not spent:
        team = "An in-house team judged: " if CROWDS[facts["crowd"]].is_team else ""
        nothing = f"{team}nothing was paid for it."
        return nothing[0].upper() + nothing[1:]
    currency = currency_of(facts["policy"])
    sums = partial(money, currency=currency)
    extras = {CROWDS[one["crowd"]].extras for one in facts.get("crowds") or [facts]} - {""}
    words = (
        f"{sums(spent)}: {sums(spent - bonuses - billed)} for assignments, including the "
        f"crowd's fee and discarded assignments, and {sums(bonuses)} for "
        f"{' and '.join(['bonuses', *sorted(extras)])}.{_billed(billed, sums) if billed else ''}"
    )
    if crowds := facts.get("crowds"):
        parts = [f"{sums(each['cost_cents'])} went to {_named(each)}" for each in crowds]
        words += f" Of this, {' and '.join(parts)}."
    labelled, what = facts["triplets"]["labelled"], "labelled triplet"
    if is_imported(facts):
        labelled, what = by_votes, "released triplet labelled by votes"
    if labelled:
        words += f" That is {currency} {spent / 100 / labelled:.3f} per {what}."
    return words
