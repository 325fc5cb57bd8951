"""`quorum campaign`: what studies of a campaign have found, and what follows for the next one."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer

from annotation.analytics.campaign.plan import (
    LEAST_DAYS,
    LEAST_ERROR,
    LEAST_HOURS,
    MOST_ERROR,
    MOST_HOURS,
    MOST_PEOPLE,
    MOST_QUERIES,
    USUAL_ERROR,
    Wanted,
    plan_of,
)
from annotation.analytics.quality.expert_agreement import audit_plan
from annotation.analytics.quality.pilot_report import Condition, pilot_report
from annotation.analytics.workers.shared_errors import known_items, read_machine, report_of
from annotation.commands.campaign_noun import STUDIES, campaign_verb, finite, worded
from annotation.models import Campaign
from annotation.pipeline.labelling.label import claims_of
from annotation.pipeline.setup.create import get_campaign
from annotation.pipeline.setup.create_pilot import pilot_of
from annotation.pipeline.setup.pool_depth import depth_report
from annotation.protocol.estimates.audit_plan import LEAST_WIDTH, MOST_WIDTH, USUAL_WIDTH
from annotation.protocol.estimates.certificate import LEAST_CERTIFIED, MOST_CERTIFIED
from annotation.protocol.labels.claims import no_chance_in_words
from annotation.protocol.labels.expert_agreement import DECIMALS, rounded
from annotation.protocol.studies.pilot import Comparison
from annotation.protocol.studies.pool_depth import LEVEL
from core.command import Result
from core.errors import UserError
from core.files.whole import write_whole
from core.output import Facts, Rendered, Rows
from core.text.money import cents_of, money
from retrieval.ranking.runs import require_new


@campaign_verb("pilot-report", panel=STUDIES)
def pilot_results(campaign: Campaign) -> Result:
    """Compare the errors with and without the answer; NAME is one of the pilot's campaigns."""
    pilot = pilot_of(campaign)
    if pilot is None:
        raise UserError(
            f"Campaign {campaign} belongs to no pilot: create one with `quorum campaign pilot "
            f"{campaign}`."
        )
    report = pilot_report(pilot)
    return {
        "pilot": pilot.name,
        "source": report.source.name,
        **_condition("with", report.shown),
        **_condition("without", report.hidden),
        "triplets_with_gold": report.gold,
        "without_a_label_in_a_condition": report.without_a_label,
        "workers_in_both_conditions": report.in_both_conditions,
        "triplets_met_again": report.met_again,
        **_compared(report.comparison),
    }


def _compared(errors: Comparison | None) -> Result:
    """Each share with the bounds of its interval."""
    if errors is None:
        return {"compared": 0}
    return {
        "compared": errors.triplets,
        "error_with_the_answer": _rounded(*errors.shown[2:5]),
        "error_without_it": _rounded(*errors.hidden[2:5]),
        "difference": _rounded(errors.difference, errors.low, errors.high),
        "relative_change": None if errors.relative is None else round(-errors.relative, DECIMALS),
        "accuracy_with_the_answer": round(errors.accuracy, DECIMALS),
    }


def _condition(name: str, condition: Condition) -> Result:
    return {
        f"labelled_{name}": condition.labelled,
        f"open_{name}": condition.open,
        f"unresolved_{name}": condition.unresolved,
        f"agreement_{name}": rounded(condition.agreement),
        f"spent_cents_{name}": condition.spent_cents,
    }


def _rounded(*numbers: float) -> list[float]:
    return [round(number, DECIMALS) for number in numbers]


def _hidden(result: Result) -> Rendered:
    """Of a report: the share and its interval are one line."""
    share, interval = result["hidden_share"], result["hidden_share_interval"]
    words: Result = {**result, "hidden_share_interval": None, "positive_ranks": None}
    if isinstance(share, float) and isinstance(interval, tuple):
        low, high = interval
        words["hidden_share"] = f"{share:.4f} ({LEVEL:.0%} interval {low:.4f} to {high:.4f})"
    name = f"hidden_share_of_the_positives_in_the_top_{result['last_rank']}"
    words = {name if key == "hidden_share" else key: value for key, value in words.items()}
    return Facts(worded(words))


@campaign_verb("pool-depth-report", panel=STUDIES, render=_hidden)
def pool_depth_results(campaign: Campaign) -> Result:
    """Report the number of positives below the last rank of the original campaign."""
    report = depth_report(campaign)
    hidden, first, last = report.hidden, report.first, report.last
    upper, lower = f"ranks_1_to_{first}", f"ranks_{first + 1}_to_{last}"
    return {
        "campaign": campaign.name,
        "study_of": report.studied.name,
        "partial": hidden.queries < report.queries,
        "queries": report.queries,
        "queries_counted": hidden.queries,
        "first_rank": first + 1,
        "last_rank": last,
        "triplets_without_a_majority": hidden.without_a_label,
        f"positives_per_query_at_{upper}": hidden.positives_per_query_first,
        f"positives_per_query_at_{lower}": hidden.positives_per_query_next,
        f"positives_by_rank_at_{upper}": hidden.positives_at_first,
        f"positives_by_rank_at_{lower}": hidden.positives_at_next,
        "positive_ranks": hidden.positive_ranks,
        "hidden_share": hidden.hidden_share,
        "hidden_share_interval": hidden.hidden_share_interval,
        f"queries_without_a_positive_at_{upper}": hidden.answerless_first,
        f"of_them_with_one_at_{lower}": hidden.answerless_with_one_next,
    }


@campaign_verb("aggregation-report", panel=STUDIES)
def aggregation_results(campaign: Campaign) -> Result:
    """Compare the majority with models of workers that know the controls; no label changes."""
    # It loads scipy, which no other command needs.
    from annotation.analytics.quality.aggregation import (  # noqa: PLC0415
        aggregation_of,
        reliability_of,
    )

    report, shown = aggregation_of(campaign), reliability_of(campaign)
    errors: Result = {}
    for name, error in report.errors.items():
        if error is not None:
            key = f"label_error_of_{name.replace(' ', '_')}"
            errors |= {key: round(error.share, DECIMALS)}
            errors |= {f"{key}_interval": _rounded(error.low, error.high)}
            errors["triplets_with_gold"] = error.triplets
    return {
        "campaign": campaign.name,
        "controls": report.controls,
        "answers_to_controls": report.answers,
        "votes": report.votes,
        "chosen": report.choice.name,
        "why": report.choice.why,
        "log_loss_on_hidden_controls": "; ".join(
            f"{name} {loss:.3f}" for name, loss in report.choice.losses.items()
        )
        or None,
        "triplets_with_a_majority": report.with_majority,
        "labels_that_would_change": report.changed,
        **errors,
        "probabilities": no_chance_in_words(campaign.policy, claims_of(campaign)) or "shown",
        "expected_calibration_error": shown and round(shown.error, DECIMALS),
        "reliability": shown
        and "; ".join(
            f"{one.chance:.0%} of {one.items:,} came true {one.share:.0%} of the time "
            f"({one.low:.0%} to {one.high:.0%})"
            for one in shown.bins
        ),
    }


@campaign_verb("audit-plan", panel=STUDIES)
def audit_plan_results(
    campaign: Campaign,
    width: Annotated[
        float,
        typer.Option(
            min=LEAST_WIDTH,
            callback=finite,
            max=MOST_WIDTH,
            help="Wanted width of the label error's 95 % interval: 0.02 for 2 to 4 %.",
        ),
    ] = USUAL_WIDTH,
    certify: Annotated[
        float | None,
        typer.Option(
            min=LEAST_CERTIFIED,
            callback=finite,
            max=MOST_CERTIFIED,
            help="Also: can it be certified that at most this share of the labels is wrong?",
        ),
    ] = None,
) -> Result:
    """Say how many labels experts have to judge, for an interval and for a certificate."""
    plan = audit_plan(campaign, width=width, share=certify)
    known, certificate = plan.error, plan.certificate
    return {
        "campaign": campaign.name,
        "labels": plan.labels,
        "judged_at_random": plan.judged,
        "label_error": _rounded(known.share, known.low, known.high) if known else None,
        "width": width,
        "to_judge_for_this_width": plan.more,
        "estimated_from": plan.basis,
        "certificate": certificate and certificate.error,
        "certificate_holds": certificate and certificate.holds,
        "evidence": certificate and round(certificate.evidence, 2),
        "ways_to_the_certificate": list(plan.ways) if certificate else None,
    }


def _named_pairs(result: Result) -> Rendered:
    pairs = [
        f"{pair['first']} and {pair['second']} have {pair['both_wrong']} of {pair['shared']} wrong "
        f"together, where chance explains {pair['expected']}."
        for pair in result["pairs"]
    ]
    return [Facts({**result, "pairs": len(pairs)}), *pairs]


@campaign_verb("shared-errors", panel=STUDIES, render=_named_pairs)
def shared_errors(
    campaign: Campaign,
    machine: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Compare each worker with a machine: JSONL, CSV or TSV with item (its number) and "
            "label (0 or 1).",
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl", help="Write the items that are compared, for a machine to label."
        ),
    ] = None,
) -> Result:
    """Name workers who share more errors with each other, or a machine, than chance explains.

    On controls, and on triplets that experts judged. At most 1 % of the named pairs are chance.
    Nobody is excluded, rejected, or unpaid by it: look at their work.
    """
    if items:
        require_new(items)
        rows = (orjson.dumps(item) + b"\n" for item in known_items(campaign))
        write_whole(items, rows)
    report = report_of(campaign, read_machine(machine) if machine else None)
    return {"campaign": campaign.name, **asdict(report)}


def _planned(result: Result) -> Rendered:
    rows = [
        (
            one["choice"],
            f"{one['positive_controls']} + {one['negative_controls']}",
            f"{one['error']:.2%}",
            "{:.2%} to {:.2%}".format(*one["error_interval"]),
            f"{one['votes_per_triplet']:.2f}",
            f"{one['assignments']:,}",
            f"{one['control_answers']:,}",
            money(one["cents"]),
            f"{one['days']:.1f}",
            "; ".join(one["lacks"]) or "meets it",
        )
        for one in result["choices"]
    ]
    chosen = result["choice"]
    advice = (
        f"The cheapest that meets this is {chosen['choice']}: {_settings(chosen)}. Then let "
        f"experts judge {result['audit']:,} labels blindly, to see whether it came true."
        if chosen
        else "None of these meets it: allow more errors, money, people, or days."
    )
    own, came = result["own_policy"], result["came"]
    facts = {key: value for key, value in result.items() if not isinstance(value, dict | list)}
    facts["own_policy"] = f"label error {own['error']:.2%}, {money(own['cents'])}"
    if came["error"] is not None:
        low, high = came["error_interval"]
        error = f"label error {came['error']:.2%} ({low:.2%} to {high:.2%})"
        facts["so_far"] = f"{error}, {money(came['cents'])}"
    head = (
        "choice", "controls", "label error", "95 % interval", "votes", "assignments",
        "controls answered", "cost", "days", "what is wanted",
    )  # fmt: skip
    cautions = dict.fromkeys(
        f"With {one['positive_controls']} + {one['negative_controls']} controls, "
        f"{'; '.join(one['cautions'])}."
        for one in result["choices"]
        if one["cautions"]
    )
    return [Facts(facts), "", Rows(head, rows, numbers=True), "", *cautions, advice]


def _settings(choice: Result) -> str:
    changed = ", ".join(f"{name} {value}" for name, value in choice["policy"].items())
    return f"a policy with {changed}"


@campaign_verb("plan", panel=STUDIES, render=_planned)
def plan(
    campaign: Campaign,
    error: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Share of labels that may be wrong.",
            min=LEAST_ERROR,
            max=MOST_ERROR,
            callback=finite,
        ),
    ] = USUAL_ERROR,
    budget: Annotated[str | None, typer.Option(metavar="AMOUNT", help="Maximum cost.")] = None,
    people: Annotated[
        int | None,
        typer.Option(
            help="People who work; by default, as many as before.", min=1, max=MOST_PEOPLE
        ),
    ] = None,
    days: Annotated[
        float | None, typer.Option(help="Days that it may take.", min=LEAST_DAYS, callback=finite)
    ] = None,
    hours: Annotated[
        float | None,
        typer.Option(
            help="Hours a day that each works, at the median active time of an assignment; by "
            "default, as many assignments a day as before.",
            min=LEAST_HOURS,
            max=MOST_HOURS,
            callback=finite,
        ),
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option(
            help="Plan another campaign of so many queries; by default, this one.",
            min=1,
            max=MOST_QUERIES,
        ),
    ] = None,
    like: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CAMPAIGN",
            help="Campaign of the same crowd where experts have judged a sample; repeatable. By "
            "default, this one.",
        ),
    ] = None,
) -> Result:
    """Plan how many votes to buy for a wanted error, budget, team, and time.

    The crowd is taken to be as it was in the campaigns named by --like.
    """
    wanted = Wanted(error, cents_of(budget) if budget else None, people, days, hours, queries)
    made = plan_of(campaign, wanted, [get_campaign(name) for name in like or [campaign.name]])
    return {"campaign": campaign.name, **made.to_dict()}
