"""`quorum campaign`: what studies of a campaign have found."""

from annotation.analytics.quality.pilot_report import Condition, pilot_report
from annotation.commands.campaign_noun import STUDIES, campaign_verb, worded
from annotation.models import Campaign
from annotation.pipeline.setup.create_pilot import pilot_of
from annotation.pipeline.setup.pool_depth import depth_report
from annotation.protocol.labels.expert_agreement import DECIMALS, rounded
from annotation.protocol.studies.pilot import Comparison
from annotation.protocol.studies.pool_depth import LEVEL
from core.command import Result
from core.errors import UserError
from core.output import Facts, Rendered


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
        "error_with_the_answer": _rounded(*errors.shown[2:]),
        "error_without_it": _rounded(*errors.hidden[2:]),
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
    words: Result = {**result, "hidden_share_interval": None}
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
        "last_rank": last,
        "triplets_without_a_majority": hidden.without_a_label,
        f"positives_per_query_at_{upper}": hidden.positives_per_query_first,
        f"positives_per_query_at_{lower}": hidden.positives_per_query_next,
        f"positives_by_rank_at_{upper}": hidden.positives_at_first,
        f"positives_by_rank_at_{lower}": hidden.positives_at_next,
        "hidden_share": hidden.hidden_share,
        "hidden_share_interval": hidden.hidden_share_interval,
        f"queries_without_a_positive_at_{upper}": hidden.answerless_first,
        f"of_them_with_one_at_{lower}": hidden.answerless_with_one_next,
    }
