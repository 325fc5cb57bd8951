"""What each field of the policy means, in words for people: one entry a field, by groups."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.protocol.policy.crowds import (
    CROWDS,
    MTURK,
    PAPER_CROWD,
    PAPER_CURRENCY,
    PROLIFIC_FEE,
)
from annotation.protocol.policy.tasks import PAPER_TASK

OPEN = "left open"
# Whose fee depends on the account there.
FEES = [(one.title, one.fee) for one in CROWDS.values() if one.fee and one.asks("fee_permille")]
OF_ACCOUNTS = " and ".join(title for title, _ in FEES)
# What nearly every campaign decides for itself; the rest is there for those who know why.
MAIN = (
    "title",
    "candidates_per_query",
    "hit_size",
    "annotators",
    "max_votes",
    "reward_cents",
    "show_answer",
)
CHOICES = {
    "extend": "One more annotator does the whole HIT",
    "repack": "The tied triplets go into new HITs",
    "reject": "Reject the assignment",
    "pay_and_discard": "Approve it, and discard its votes",
    "share": "A share of the reviewed HITs",
    "sequential": "A sequential test",
    "majority": "The majority of the votes",
    "best": "Whatever foretells controls best",
    "least_sure": "Votes for the least sure labels",
    "top_ranks": "Votes for a query's only positive and its top ranks",
    "qualification": "Qualification",
    "block": "Block",
    "decide": "An expert's label is the label",
    "measure": "The votes make the label",
}


@dataclass(frozen=True)
class Words:
    name: str  # the field's
    label: str
    meaning: str
    default: object  # the policy's, which is the paper's wherever the paper has one
    paper: str  # its value there


@dataclass(frozen=True)
class Group:
    title: str
    lead: str
    fields: tuple[Words, ...]


HIT = Group(
    "The HIT",
    "What one person sees at a time.",
    (
        Words(
            "task",
            "Task",
            "What people judge: whether two questions ask the same, or whether an answer is right.",
            PAPER_TASK.name,
            PAPER_TASK.name,
        ),
        Words(
            "candidates_per_query",
            "Candidates per query",
            "Number of top-ranked pairs that annotators judge for each query. Each extra "
            "candidate adds one judgment per annotator.",
            30,
            "30",
        ),
        Words(
            "hit_size",
            "Items per HIT",
            "Real triplets and controls together. A longer HIT has more triplets for its "
            "controls, and tires annotators more.",
            7,
            "7",
        ),
        Words(
            "show_answer",
            "Show the answer",
            "Shows the stored answer beside the question. In the paper's pilot, this lowered "
            "the error by up to 45%.",
            True,
            "yes",
        ),
        Words(
            "mark_differences",
            "Mark different words",
            "Marks the words that only one of the two questions has. Marks may sway answers, so "
            "the dataset card says whether they were on.",
            False,
            "no",
        ),
    ),
)
CONTROLS = Group(
    "Controls",
    "Items whose answer is known (gold items, attention checks), hidden among the others.",
    (
        Words(
            "positive_controls",
            "Positive controls per HIT",
            "Gold items that clearly ask the same. More of them catch more careless work and "
            "leave less room for real triplets.",
            1,
            "1",
        ),
        Words(
            "negative_controls",
            "Negative controls per HIT",
            "Questions of two random pairs, which clearly ask different things.",
            1,
            "1",
        ),
        Words(
            "control_pool_size",
            "Minimum positive controls",
            "Packing is refused if the pool has fewer, because annotators would recognise them.",
            60,
            OPEN,
        ),
        Words(
            "negative_max_cosine",
            "Maximum similarity of a negative control",
            "Highest cosine of its two questions, so that none is a paraphrase by chance.",
            0.30,
            OPEN,
        ),
        Words(
            "on_failed_control",
            "If a control fails",
            "The assignment is rejected, or approved with its votes discarded. "
            "Somebody else repeats it either way.",
            "reject",
            "rejected",
        ),
    ),
)
VOTES = Group(
    "Votes",
    "Number of people who judge a triplet, and how votes make its label.",
    (
        Words(
            "annotators",
            "Annotators per triplet",
            "Number of people who do each HIT in the first round.",
            2,
            "2, and a third where they disagree",
        ),
        Words(
            "tie_mode",
            "If annotators disagree",
            "One more annotator does the whole HIT, or the tied triplets alone go into new HITs, "
            "for people who have worked before. The estimate has both.",
            "extend",
            "a third annotator; how is left open",
        ),
        Words(
            "max_votes",
            "Maximum votes per triplet",
            "Without a majority after this many votes, the triplet stays unresolved and is "
            "excluded from releases, unless an expert may decide it.",
            5,
            OPEN,
        ),
        Words(
            "aggregation",
            "How votes make the label",
            "Their majority, or a model that knows from the controls how good each annotator is, "
            "where it foretells hidden controls better. The majority's label stays beside it.",
            "majority",
            "majority",
        ),
        Words(
            "wanted_confidence",
            "Wanted confidence",
            "A triplet whose label is less sure than this, such as 0.9, gets one more vote, up to "
            "the maximum. 0 means a majority is enough.",
            0.0,
            "a majority is enough",
        ),
        Words(
            "rank_prior",
            "Ranks as a prior",
            "With a model: a high rank makes a Yes likelier from the start, as far as the votes "
            "show it. Fewer labels are wrong, but they favour the retriever of the candidates, "
            "which the dataset card says.",
            False,
            "no",
        ),
        Words(
            "bought_first",
            "If votes run short",
            "With a wanted confidence: which are asked for first. Metrics of rankings depend most "
            "on top ranks and on a query's only positive.",
            "least_sure",
            "not in the paper",
        ),
        Words(
            "cannot_judge_limit",
            "“Can't judge” answers that call an expert",
            "Adds “Can't judge” and “Later” beside Yes and No. “Can't judge” is never a vote: it "
            "is counted on its own, with its reason. After this many, a triplet without a "
            "majority goes to the experts. 0 means Yes and No only.",
            0,
            "Yes and No only",
        ),
        Words(
            "adjudication",
            "What adjudication does",
            "Votes and experts' labels are both kept, whichever makes the label. Either way, the "
            "blind random sample gives the label error.",
            "measure",
            "experts measured the error",
        ),
    ),
)
EXCLUSION = Group(
    "Exclusion",
    "Annotators who fail too many controls are excluded, and their votes are discarded.",
    (
        Words(
            "exclusion_rule",
            "Rule of exclusion",
            "The share is the paper's, and excludes many by bad luck, for it looks after each HIT. "
            "The sequential rule excludes at most 1 % of those who fail as often as allowed.",
            "share",
            "more than 10 % failed",
        ),
        Words(
            "max_failure_rate",
            "Maximum share of failed HITs",
            "People whose share of failed HITs is higher are excluded. With 1, nobody is.",
            0.10,
            "10%",
        ),
        Words(
            "min_assignments",
            "Reviewed HITs before exclusion",
            "The share counts only after this many reviewed HITs. Otherwise a newcomer's first "
            "slip would be 100%.",
            10,
            OPEN,
        ),
        Words(
            "exclude_by",
            "Exclude by",
            f"A qualification excludes here alone. A block is for {MTURK.title}: it holds for all "
            "your work there and is told to the worker.",
            "qualification",
            OPEN,
        ),
    ),
)
CROWD = Group(
    "Time",
    "How long people have.",
    (
        Words(
            "crowd",
            "Who judges",
            "; ".join(f"{each.kind}: {each.description}" for each in CROWDS.values()) + ".",
            PAPER_CROWD.kind,
            "Mechanical Turk",
        ),
        Words(
            "currency",
            "Currency",
            "The site's (`QUORUM_CURRENCY`). All sums are in hundredths of it.",
            PAPER_CURRENCY,
            "USD",
        ),
        Words(
            "reward_cents",
            "Reward per assignment, in cents",
            "Pay for one HIT. The crowd's fee comes on top: "
            + "; ".join(
                f"{each.fee_in_words} at {each.title}" for each in CROWDS.values() if each.fee
            )
            + ".",
            15,
            "15",
        ),
        Words(
            "fee_permille",
            f"{OF_ACCOUNTS}'s fee, in thousandths",
            "Of each reward and bonus. "
            + " ".join(
                f"{title} takes {fee.permille} of companies and {fee.universities_permille} of "
                "universities."
                for title, fee in FEES
            ),
            PROLIFIC_FEE.permille,
            OPEN,
        ),
        Words(
            "vat_permille",
            f"VAT on {OF_ACCOUNTS}'s fee, in thousandths",
            f"{OF_ACCOUNTS} adds it for some accounts: 200 in the United Kingdom.",
            0,
            OPEN,
        ),
        Words(
            "assignment_minutes",
            "Minutes per HIT",
            "Time to submit a HIT after taking it. After that, somebody else can take it.",
            30,
            OPEN,
        ),
        Words(
            "lifetime_days",
            "Days available",
            "Days that a HIT can be taken after publishing. You can extend them later.",
            7,
            OPEN,
        ),
        Words(
            "auto_approval_days",
            "Days for review",
            f"At {MTURK.title}, work that is not reviewed within this time is approved and paid. "
            "The review here takes minutes.",
            3,
            OPEN,
        ),
    ),
)
QUALIFICATIONS = Group(
    "Qualifications",
    "Conditions for taking a HIT.",
    (
        Words(
            "masters",
            "Masters only",
            "Workers whom the server calls Masters, for a higher fee.",
            True,
            "yes",
        ),
        Words(
            "min_approval_percent",
            "Minimum approval rate, in percent",
            "Of all that a worker ever submitted there.",
            95,
            "95",
        ),
        Words(
            "min_approved",
            "Minimum approved HITs",
            "Minimum number of HITs that a worker has had approved there.",
            100,
            "100",
        ),
        Words(
            "qualification_items",
            "Items of the qualification test",
            "Number of explained examples to judge before the first HIT. 0 means no test.",
            0,
            "none",
        ),
        Words(
            "qualification_pass_percent",
            "Pass mark of the qualification test, in percent",
            "Lowest score that opens the HITs. It applies only if there is a test.",
            80,
            OPEN,
        ),
    ),
)
SPLITS = Group(
    "Splits",
    "How a release divides the queries: all three as shares such as 0.77, or all as counts.",
    (
        Words(
            "train",
            "Train",
            "Takes the queries that dev and test leave, including those with gaps.",
            0.77,
            "11,711 queries, 77%",
        ),
        Words(
            "dev",
            "Dev",
            "Takes only queries whose candidates all have a label.",
            0.099,
            "1,500 queries, 9.9%",
        ),
        Words(
            "test",
            "Test",
            "Takes only queries whose candidates all have a label.",
            0.131,
            "2,000 queries, 13.1%",
        ),
    ),
)
TEXTS = Group(
    "Texts",
    "What people read in the list of HITs, before opening one.",
    (
        Words(
            "title",
            "Title",
            "The line that people see first. At most 128 characters.",
            "Do these pairs of questions ask the same thing?",
            OPEN,
        ),
        Words(
            "description",
            "Description",
            "One or two sentences below the title.",
            "Read short pairs of questions and say for each pair whether both ask the same thing.",
            OPEN,
        ),
        Words(
            "keywords",
            "Keywords",
            "Search words, separated by commas.",
            "questions, similarity, language, judgment",
            OPEN,
        ),
    ),
)
GROUPS = (HIT, CONTROLS, VOTES, EXCLUSION, CROWD, QUALIFICATIONS, SPLITS, TEXTS)
