"""What each field of the policy means, in words for people: one entry a field, by groups."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.protocol.policy.crowds import CROWDS, PAPER_CROWD

OPEN = "left open"


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
    "How many candidates are judged, and what one worker sees in one sitting.",
    (
        Words(
            "candidates_per_query",
            "Candidates of a query",
            "So many of the nearest pairs are judged for each query. Every one more is bought from "
            "each annotator.",
            30,
            "30",
        ),
        Words(
            "hit_size",
            "Items in a HIT",
            "Real triplets and controls together. A longer HIT costs less for each triplet and "
            "tires its worker more.",
            7,
            "7",
        ),
        Words(
            "show_answer",
            "Show the answer",
            "Whether the worker reads the stored answer beside the question. In the paper's pilot "
            "it lowered the error by up to 45%.",
            True,
            "yes",
        ),
    ),
)
CONTROLS = Group(
    "Controls",
    "Items whose answer is known, hidden among the others: they tell careful work from the rest.",
    (
        Words(
            "positive_controls",
            "Positive controls in a HIT",
            "Pairs from the pool that clearly ask the same. More of them catch more careless work "
            "and leave less room for real triplets.",
            1,
            "1",
        ),
        Words(
            "negative_controls",
            "Negative controls in a HIT",
            "The question of one random pair against that of another: they clearly ask different "
            "things.",
            1,
            "1",
        ),
        Words(
            "control_pool_size",
            "Least positive controls in the pool",
            "Packing is refused while the pool holds fewer: workers would know them again.",
            60,
            OPEN,
        ),
        Words(
            "negative_max_cosine",
            "Nearness of a negative's questions",
            "The cosine that the two questions of a negative control may have at most, so that "
            "none is a paraphrase by chance.",
            0.30,
            OPEN,
        ),
        Words(
            "on_failed_control",
            "Where a control is missed",
            "Work that misses one is rejected and not paid, or paid and its votes not used; its "
            "place is filled again either way.",
            "reject",
            "rejected",
        ),
    ),
)
VOTES = Group(
    "Votes",
    "How many people judge a triplet, and what makes its label.",
    (
        Words(
            "annotators",
            "Annotators of a triplet",
            "So many different workers take each HIT in the first round.",
            2,
            "2, and a third where they disagree",
        ),
        Words(
            "tie_mode",
            "Where they disagree",
            "extend: one more assignment of the whole HIT is bought. repack: the tied triplets "
            "alone go into new HITs, for workers who have worked before. The quote compares both.",
            "extend",
            "a third annotator; how is left open",
        ),
        Words(
            "max_votes",
            "Votes of a triplet at most",
            "With so many and no majority it stays unresolved, and is in no release until an "
            "expert decides.",
            5,
            OPEN,
        ),
    ),
)
EXCLUSION = Group(
    "Exclusion",
    "Who fails too many controls takes no more work, and none of their votes counts.",
    (
        Words(
            "max_failure_rate",
            "Share of failed HITs",
            "Strictly more than this share of a worker's reviewed HITs shuts them out; 1 shuts out "
            "nobody.",
            0.10,
            "10%",
        ),
        Words(
            "min_assignments",
            "Reviewed HITs before that",
            "The share counts from so many reviewed HITs on: else a newcomer's first slip would be "
            "100%.",
            10,
            OPEN,
        ),
        Words(
            "exclude_by",
            "Shut out by",
            "A qualification shuts out of this campaign alone. A block is Mechanical Turk's, holds "
            "for all your work there and is told to the worker.",
            "qualification",
            OPEN,
        ),
    ),
)
CROWD = Group(
    "Crowd and pay",
    "Who judges, what they get, and how long they have.",
    (
        Words(
            "crowd",
            "Who judges",
            "; ".join(f"{each.kind}: {each.description}" for each in CROWDS.values()) + ".",
            PAPER_CROWD.kind,
            PAPER_CROWD.title,
        ),
        Words(
            "reward_cents",
            "Reward of an assignment, in cents",
            "What a worker gets for one HIT; Mechanical Turk's fee of 20%, or 25% with Masters, "
            "comes on top. A team of your own may get 0.",
            15,
            "15",
        ),
        Words(
            "assignment_minutes",
            "Minutes for a HIT",
            "Who has taken a HIT hands it in within this time, else somebody else gets the place.",
            30,
            OPEN,
        ),
        Words(
            "lifetime_days",
            "Days on offer",
            "So long a HIT can be taken after it is published; it can be given more time later.",
            7,
            OPEN,
        ),
        Words(
            "auto_approval_days",
            "Days for the review",
            "Mechanical Turk approves and pays by itself what was not reviewed within them. The "
            "review here takes minutes.",
            3,
            OPEN,
        ),
    ),
)
QUALIFICATIONS = Group(
    "Qualifications",
    "Who may take a HIT at all.",
    (
        Words(
            "masters",
            "Masters alone",
            "Workers whom Mechanical Turk calls Masters: a fee of 5% more. A team of your own has "
            "none.",
            True,
            "yes",
        ),
        Words(
            "min_approval_percent",
            "Approved share at least, in percent",
            "Of all that a worker ever handed in at Mechanical Turk. A team of your own has 0 "
            "there.",
            95,
            "95",
        ),
        Words(
            "min_approved",
            "Approved HITs at least",
            "So many of a worker's HITs were approved at Mechanical Turk before. A team of your "
            "own has 0 there.",
            100,
            "100",
        ),
        Words(
            "practice_items",
            "Items of the qualification test",
            "So many explained examples are judged before the first HIT, unpaid and on this site; "
            "0 is no round.",
            0,
            "none",
        ),
        Words(
            "practice_pass_percent",
            "Right in the qualification test, in percent",
            "The least share that opens the HITs; it counts only where there is a round.",
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
            "Takes the queries that the other two leave, those with gaps included.",
            0.77,
            "11,711 queries, 77%",
        ),
        Words(
            "dev",
            "Dev",
            "Takes only queries of which every candidate has a label.",
            0.099,
            "1,500 queries, 9.9%",
        ),
        Words(
            "test",
            "Test",
            "Takes only queries of which every candidate has a label.",
            0.131,
            "2,000 queries, 13.1%",
        ),
    ),
)
TEXTS = Group(
    "Texts",
    "What a worker reads in the list of HITs, before opening one.",
    (
        Words(
            "title",
            "Title",
            "The line by which workers find the work; at most 128 characters.",
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
            "Words by which the work is searched for, with commas between them.",
            "questions, similarity, language, judgment",
            OPEN,
        ),
    ),
)
GROUPS = (HIT, CONTROLS, VOTES, EXCLUSION, CROWD, QUALIFICATIONS, SPLITS, TEXTS)
