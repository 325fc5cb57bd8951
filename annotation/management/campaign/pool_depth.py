"""`manage.py campaign audit`: what the last rank of a campaign hides."""

from functools import partial

from django.conf import settings
from django.core.management.base import CommandParser

from annotation.access.audit_log import by_command, record
from annotation.management.campaign.base import Options, Result, Step
from annotation.models import Campaign
from annotation.pipeline.ledger.accounts import account_of, set_budget
from annotation.pipeline.ledger.dollars import cents_of
from annotation.pipeline.setup.pool_depth import QUERIES, audit_report, create_audit
from annotation.protocol.studies.pool_depth import LEVEL
from core.command import QuorumCommand


def _audit(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    budget = cents_of(options["budget"]) if options["budget"] is not None else None
    with command.progress(options["queries"], "retrieving", "query") as bar:
        audit = create_audit(
            campaign,
            options["audit_name"] or f"{campaign}-audit",
            queries=options["queries"],
            to=options["to"],
            seed=options["seed"],
            device=options["device"],
            made=partial(_record, campaign, budget),
            progress=bar.update,
        )
    first, last = audit.query_set.retrieval["ranks"]
    queries = audit.query_set.queries.count()
    return {
        "campaign": audit.name,
        "audits": campaign.name,
        "queries": queries,
        "first_rank": first,
        "last_rank": last,
        "candidates": queries * (last - first + 1),
        "seed": audit.seed,
        "budget_cents": account_of(audit).budget_cents,
    }


def _record(audited: Campaign, budget: int | None, audit: Campaign) -> None:
    if budget is not None:
        set_budget(audit, budget)
    details = {"audits": audited.name, "budget_cents": budget or 0}
    record(by_command(), "audit", campaign=audit, details=details)


def _report(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    report = audit_report(campaign)
    found, first, last = report.hidden, report.first, report.last
    upper, lower = f"ranks_1_to_{first}", f"ranks_{first + 1}_to_{last}"
    return {
        "campaign": campaign.name,
        "audits": report.audited.name,
        "partial": found.queries < report.queries,
        "queries": report.queries,
        "queries_counted": found.queries,
        "last_rank": last,
        "triplets_without_a_majority": found.without_a_label,
        f"positives_per_query_at_{upper}": found.positives_per_query_first,
        f"positives_per_query_at_{lower}": found.positives_per_query_next,
        f"positives_by_rank_at_{upper}": found.positives_at_first,
        f"positives_by_rank_at_{lower}": found.positives_at_next,
        "hidden_share": found.hidden_share,
        "hidden_share_interval": found.hidden_share_interval,
        f"queries_without_a_positive_at_{upper}": found.answerless_first,
        f"of_them_with_one_at_{lower}": found.answerless_with_one_next,
    }


def in_words(result: Result) -> Result:
    """Of a report: the share and its interval are one line."""
    share, interval = result["hidden_share"], result["hidden_share_interval"]
    words = {**result, "hidden_share_interval": None}
    if isinstance(share, float) and isinstance(interval, tuple):
        low, high = interval
        words["hidden_share"] = f"{share:.4f} ({LEVEL:.0%} interval {low:.4f} to {high:.4f})"
    name = f"hidden_share_of_the_positives_in_the_top_{result['last_rank']}"
    return {name if key == "hidden_share" else key: value for key, value in words.items()}


def _audit_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "--queries", type=int, metavar="N", help=f"how many to draw; {QUERIES} where there are"
    )
    parser.add_argument(
        "--to", type=int, metavar="RANK", help="the last rank to judge; twice the campaign's"
    )
    parser.add_argument("--seed", type=int, default=0, help="of drawing and packing")
    parser.add_argument(
        "--name", dest="audit_name", metavar="AUDIT", help="of the new campaign; NAME-audit"
    )
    parser.add_argument("--budget", metavar="DOLLARS", help="what the audit may cost at most")
    parser.add_argument("--device", default=settings.ENCODER_DEVICE, help="auto, cpu or cuda")


STEPS = {
    "audit": Step(
        "make a campaign that judges the ranks below those of this one, for some of its queries",
        _audit,
        _audit_arguments,
    ),
    "audit-report": Step("say what the last rank of the audited campaign hides", _report),
}
