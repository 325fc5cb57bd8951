"""`quorum campaign`: from the queries to the labels, one step at a time."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from django.db import transaction

from annotation.access.audit_log import by_command, record
from annotation.analytics.campaign.corpus import corpus_of
from annotation.analytics.campaign.labelling import labelling_in_words
from annotation.analytics.campaign.plan import (
    LEAST_HOURS,
    MOST_HOURS,
    MOST_PEOPLE,
    check_known,
)
from annotation.analytics.campaign.progress import progress as progress_of
from annotation.analytics.campaign.status import campaign_status
from annotation.commands.campaign_noun import (
    Budget,
    Seed,
    app,
    campaign_verb,
    finite,
    in_words,
    no_money,
    worded,
)
from annotation.commands.campaign_operations import add, add_long
from annotation.models import Campaign
from annotation.operations.campaigns import Wanted, draw, save_campaign, warnings_of
from annotation.operations.instructions import save_instructions
from annotation.operations.pool import add_drafts_of
from annotation.operations.registry import LONG_OPERATIONS, OPERATIONS
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.publishing.pack import triplets_to_judge
from annotation.pipeline.setup.create import get_campaign, read_policy
from annotation.pipeline.setup.import_dataset import import_dataset
from annotation.pipeline.setup.instructions import read_instructions
from annotation.protocol.estimates.cost import estimate_cost
from annotation.protocol.labels.claims import asking_in_words
from annotation.protocol.policy.crowds import CROWDS, PAPER_CROWD, CrowdKind
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS, TaskName
from core.command import Result, choice, one_of, progress
from core.output import Facts, Rendered, Rows
from core.text.money import cents_of
from retrieval.corpus.corpora import corpus_named
from retrieval.models.corpus import ALL, name_of

IMPORT = "import"
CHOICE = ", ".join(each.title for each in CROWDS.values())
ChosenCrowd = Annotated[
    CrowdKind | None,
    choice("--crowd", CROWDS, f"Who judges: {CHOICE} (default: {PAPER_CROWD.title})."),
]
ChosenTask = Annotated[
    TaskName | None,
    choice("--task", tuple(TASKS), f"What is asked of an item (default: {PAPER_TASK.name})."),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy", metavar="FILE", help="JSON file with what differs from the paper's policy."
    ),
]


def _table(result: Result) -> Rendered:
    if not result["campaigns"]:
        return "There are no campaigns yet: create one with `quorum campaign create`."
    head = ("campaign", "status", "queries", "labelled", "triplets", "spent")
    return Rows(head, map(_row, result["campaigns"]))


def _row(one: Result) -> tuple[str, ...]:
    money = worded({"spent_cents": one["spent_cents"]})["spent"]
    counts = (f"{one[name]:,}" for name in ("queries", "labelled", "triplets"))
    return (one["campaign"], one["status"], *counts, money)


@app.verb("list", render=_table, panel="Steps")
def list_campaigns() -> Result:
    """List the campaigns, the newest first."""
    return {"campaigns": [_summary(one) for one in Campaign.objects.order_by("-pk")]}


def _summary(campaign: Campaign) -> Result:
    return {
        "campaign": campaign.name,
        "status": campaign_status(campaign),
        "queries": campaign.query_set.queries.count(),
        "labelled": campaign.triplets.filter(status="labelled").count(),
        "triplets": campaign.triplets.count(),
        "spent_cents": account_of(campaign).spent_cents,
    }


def _created(result: Result) -> Rendered:
    return in_words(result | {"crowd": _crowd_in_words(result["crowd"])})


def _crowd_in_words(chosen: CrowdKind) -> str:
    others = [f"`--crowd {one.kind}`: {one.title}" for one in CROWDS.values() if one.kind != chosen]
    return f"{CROWDS[chosen].title}, fixed from now on (instead, {'; '.join(others)})"


@app.verb("create", render=_created, panel="Steps")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new campaign.")],
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Hold out N random queries of the corpus; of the task `answer`, judge N random "
            "pairs of it.",
        ),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Use your own queries; of the task `answer`, with the answers to judge, as "
            "`quorum model evaluate-answers --answers` writes them.",
        ),
    ] = None,
    instructions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Markdown file for the annotators.")
    ] = None,
    corpus: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Queries, candidates and negative controls come from this corpus alone; `all` "
            "has every pair.",
        ),
    ] = ALL,
    qualification_test: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Your own qualification items; the policy says how many are drawn."
        ),
    ] = None,
    task: ChosenTask = None,
    crowd: ChosenCrowd = None,
    seed: Seed = 0,
    policy: PolicyFile = None,
    budget: Budget = None,
    like: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CAMPAIGN",
            help="Plan it after this campaign of the same crowd, as `plan --like` does, and keep "
            "what is predicted beside what will come; repeatable.",
        ),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(help="People who will work, for the plan's days.", min=1, max=MOST_PEOPLE),
    ] = None,
    hours: Annotated[
        float | None,
        typer.Option(
            help="Hours a day that each works, for the plan's days.",
            min=LEAST_HOURS,
            max=MOST_HOURS,
            callback=finite,
        ),
    ] = None,
) -> Result:
    """Create a campaign: choose its queries and fix its policy."""
    one_of({"--sample": sample, "--queries": queries}, required=True)
    cents = None if budget is None else cents_of(budget)
    rules = read_policy(policy, crowd=crowd, task=task)
    check_known([get_campaign(one) for one in like or ()], hours=hours)
    wanted = Wanted(
        name,
        rules.to_dict(),
        seed,
        sample,
        budget_cents=cents,
        corpus=corpus,
        like=like or (),
        people=people,
        hours=hours,
    )
    with progress(None, "Reading", " questions") as bar:
        drawn = draw(wanted, queries, progress=bar.update)
        campaign, details = save_campaign(
            by_command(), wanted, drawn, instructions=instructions, items=qualification_test
        )
    warning = " ".join(warnings_of(campaign.query_set.queries.count(), rules)) or None
    return {"campaign": campaign.name, **details, "warning": warning}


@app.verb(IMPORT, render=in_words, panel="Steps")
@transaction.atomic
def import_campaign(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the campaign and of the source of its pairs."),
    ],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="JSONL (.gz), one query with its candidates per line. From train.jsonl, dev.jsonl "
            "and test.jsonl, releases keep the splits.",
        ),
    ],
    license: Annotated[str, typer.Option(help="License of the questions and answers.")] = "",
    skip_faulty: Annotated[
        bool, typer.Option("--skip-faulty", help="Skip lines that cannot be used.")
    ] = False,
    corpus: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Corpus that the source joins, from which negative controls come; `all` has it "
            "anyway.",
        ),
    ] = ALL,
    crowd: ChosenCrowd = None,
    seed: Seed = 0,
    policy: PolicyFile = None,
    budget: Budget = None,
) -> Result:
    """Import a labelled dataset, to audit it, extend it or release it again."""
    chosen = corpus_named(corpus)
    size = sum(path.stat().st_size for path in files if path.is_file())
    with progress(size, "Importing", "B") as bar:
        made = import_dataset(
            files,
            name,
            policy=read_policy(policy, crowd=crowd),
            seed=seed,
            license=license,
            skip_faulty=skip_faulty,
            corpus=chosen,
            progress=bar.update,
        )
    if budget is not None:
        set_budget(made.campaign, cents_of(budget))
    counts = {
        "corpus": name_of(chosen),
        "queries": made.queries,
        "candidates": made.candidates,
        "of_these_in_other_sources": made.elsewhere or None,
        "labelled": made.labelled,
        "positive": made.positive,
        "without_a_label": made.open,
        "lines_skipped": made.lines_skipped,
        "skipped": made.first_faults or None,
    }
    details = counts | {"budget_cents": account_of(made.campaign).budget_cents}
    record(by_command(), IMPORT, campaign=made.campaign, details=details)
    return {"campaign": made.campaign.name, **counts}


@campaign_verb("estimate")
def estimate(campaign: Campaign) -> Result:
    """Estimate the cost before you spend anything."""
    triplets = triplets_to_judge(campaign)
    costs = estimate_cost(triplets, campaign.policy)
    left_out = "replacements of rejected and discarded work"
    if campaign.policy.is_adaptive:
        left_out += ", and votes on triplets whose label is not sure after the first round"
    corpus = corpus_of(campaign)
    return {
        "campaign": campaign.name,
        "triplets": triplets,
        **asdict(costs),
        "not_counted": left_out,
        **({"asking": asking} if (asking := asking_in_words(campaign.policy)) else {}),
        "corpus": corpus.name,
        "licences": corpus.licences_in_words,
    }


for operation in LONG_OPERATIONS.values():
    if operation.has_command:
        add_long(operation)


def _statuses(result: Result) -> Rendered:
    if "campaigns" not in result:
        return _facts(result)
    blocks = [block for one in result["campaigns"] for block in (_facts(one), "")]
    return blocks[:-1] or _table(result)


def _facts(one: Result) -> Facts:
    """The status says the state in words."""
    return Facts(worded({**one, "state": None}))


@app.verb("status", render=_statuses, panel="Steps")
def status(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One campaign; without it, all.")
    ] = None,
) -> Result:
    """Show progress, costs and blockers of a campaign, or of all."""
    if name is not None:
        return _status(get_campaign(name))
    return {"campaigns": [_status(one) for one in Campaign.objects.order_by("-pk")]}


def _status(campaign: Campaign) -> Result:
    how = labelling_in_words(campaign)
    return progress_of(campaign) | ({"labels": how} if how else {}) | no_money(campaign.policy)


def _text(result: Result) -> Rendered:
    """As it is: it may go to a file, to be edited."""
    return result["text"] if "text" in result else in_words(result)


@campaign_verb("instructions", render=_text)
def instructions(
    campaign: Campaign,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Markdown file: the new version.")
    ] = None,
) -> Result:
    """Print the annotators' instructions, or replace them for HITs not published yet."""
    if file is None:
        newest = campaign.instructions.latest("version")
        return {"campaign": campaign.name, "version": newest.version, "text": newest.text}
    added = save_instructions(by_command(), campaign, read_instructions(file))
    return {"campaign": campaign.name, **asdict(added)}


@campaign_verb("import-drafts")
def import_drafts(
    campaign: Campaign,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="JSONL, CSV or TSV with kind (positive or negative), query, question and answer; "
            "a positive may lack the answer.",
        ),
    ],
) -> Result:
    """Import drafts of controls, such as a model's paraphrases. A person confirms each."""
    return asdict(add_drafts_of(by_command(), campaign, file, str(file)))


for short in OPERATIONS.values():  # after the steps, as the help lists them
    add(short)
