"""What lies where in a release's folder."""

from __future__ import annotations

from annotation.protocol.policy.policy import Policy

FORMAT = "quorum-release"
LABELLED_SET = "quorum-labelled-set"  # a published set, imported: nobody here voted on it
FORMAT_VERSION = 2
# Of a release whose candidates several retrievers found: its records tell by whom.
POOLED_VERSION = 3
# Of a release whose labels need not be majorities: its records tell what each comes from.
SOURCED_VERSION = 4
# Of a release whose labels an aggregator made: its records tell the chance and the majority, too.
AGGREGATED_VERSION = 5
FORMAT_VERSIONS = (FORMAT_VERSION, POOLED_VERSION, SOURCED_VERSION, AGGREGATED_VERSION)
# The origin of a labelled dataset's queries: its label stands where the votes make none.
IMPORTED = "import"
# Those of queries that came with their candidates, of any number.
WITH_CANDIDATES = (IMPORTED, "answer", "pairs")

# One line for each query: see retrieval.ranking.records.
SPLIT_FILES = ("train.jsonl", "dev.jsonl", "test.jsonl")

# Facts of the campaign that no file of the release can prove: the policy, the seeds, the
# retriever, the sources, what was paid beside the work, how many triplets are still open.
CAMPAIGN = "campaign.json"
# The release's number, what was asked of it, the release before it, and what software wrote it.
RELEASE = "release.json"
ARCHIVE_SUFFIX = ".tar.zst"
STATS = "stats.json"  # every figure, all recomputed by exports.verify
CHANGES = "changes.json"  # how many labels were added, changed and withdrawn
CHANGED_LABELS = "changes.jsonl"  # each that was changed or withdrawn
CARD = "README.md"
CROISSANT = "croissant.json"
MANIFEST = "manifest.json"  # size and sha256 of every other file
# One line for each query of the campaign, in the order of the ids: {"id", "split" (or null),
# "cluster", "candidates", "labelled", "complete", "reason" (why it is in no split, or null)}.
PLACEMENTS = "placements.jsonl"
# {"query_id", "candidate_id", "expert", "label", "blind_label", "source"}, a line an expert label;
# and "adjudicated", where adjudication decides: the labels with true make the triplet's.
GOLD = "gold.jsonl"

# Only where the policy lets people say that they can't judge.
CANNOT_JUDGE = "cannot_judge.parquet"
JUDGMENTS = "judgments.parquet"
ASSIGNMENTS = "assignments.parquet"
CONTROLS = "controls.parquet"
# Left out where the annotators' work is not to be published.
OF_THE_ANNOTATORS = (JUDGMENTS, ASSIGNMENTS, CONTROLS, CANNOT_JUDGE)


def annotators_tables(policy: Policy) -> tuple[str, ...]:
    """Those that a release has if it has any."""
    return OF_THE_ANNOTATORS if policy.cannot_judge_limit else OF_THE_ANNOTATORS[:-1]


# Of an extract, before the queries are split (see exports.building.assemble):
QUERIES = "queries.jsonl"  # all queries' records, in the order of the ids
COUNTS = "counts.jsonl"  # {"id", "candidates", "labelled", "complete"} of each, in that order
