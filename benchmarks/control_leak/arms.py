"""One seeded campaign with four kinds of controls, packed by the rules of the protocol.

`pool`: the general pool and random pairs, as a campaign without controls of its own has them.
`drafts`: the campaign's own, every draft of the rules confirmed unread.
`read`: the same, but a person reads the negatives and dismisses what they would answer Yes to, as
often right as a careful worker.
`paraphrases`: as a person leaves them who reads the drafts. Positives are questions of the same
meaning that were kept out of the corpus, in the place of the words of their own; negatives that the
gold calls wrong are dismissed.
"""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from annotation.analytics.quality.control_leak import ShownItem
from annotation.crowd.simulated.profiles import WorkerProfiles, fraction
from annotation.pipeline.controls.import_controls import SHIPPED
from annotation.protocol.labels.control_drafts import LAST_NEGATIVE, Draft, Pair, Ranked, draft
from annotation.protocol.labels.rewordings import Style
from annotation.protocol.packing.own_controls import OwnControl, pack_own
from annotation.protocol.packing.pack import (
    HitSpec,
    ItemSpec,
    TripletRef,
    draw_negatives,
    negatives_needed,
    pack,
)
from annotation.protocol.policy.policy import Policy
from benchmarks.control_leak.corpora import Corpus

KEPT_OUT = 6  # paraphrases of each query: as many as a campaign of 30 candidates has HITs for it

Confirming = Literal["unread", "read", "paraphrased"]
Triple = tuple[str, str, str]  # query, question, answer


@dataclass(frozen=True)
class Arm:
    """`known`: of each control, whether it is a Yes by the gold; None where that does not say."""

    items: list[ShownItem]
    expected: Mapping[Triple, int]
    known: Mapping[Triple, int | None]
    yes: Mapping[Triple, int]  # of the triplets
    controls: Mapping[str, int]


@dataclass(frozen=True)
class Drawn:
    corpus: Corpus
    seed: int
    policy: Policy
    queries: Sequence[int]  # rows of the corpus, as those below
    ranked: Mapping[int, Sequence[int]]
    kept_out: Mapping[int, Sequence[int]] = field(default_factory=dict)

    @property
    def refs(self) -> list[TripletRef]:
        depth = self.policy.candidates_per_query
        return [
            TripletRef(f"{q}:{rank}", str(q), rank) for q in self.queries for rank in range(depth)
        ]

    def text(self, query: int, row: int) -> Triple:
        rows = self.corpus.rows
        return rows[query][0], rows[row][0], rows[row][1]

    def same(self, query: int, row: int) -> int:
        return int(self.corpus.rows[query][2] == self.corpus.rows[row][2])


def drawn(corpus: Corpus, seed: int, policy: Policy, *, queries: int, kept_out: int = 0) -> Drawn:
    chosen = random.Random(seed)
    groups: dict[str, list[int]] = {}
    for row, (*_, meaning) in enumerate(corpus.rows):
        groups.setdefault(meaning, []).append(row)
    fit = [rows for _, rows in sorted(groups.items()) if len(rows) > kept_out]
    picked = chosen.sample(fit, min(queries, len(fit)))
    asked = [chosen.sample(rows, kept_out + 1) for rows in picked]
    hidden = [row for rows in asked for row in rows]
    ranked = {}
    for query, *_ in asked:
        scores = corpus.vectors @ corpus.vectors[query]
        scores[hidden] = -2
        order = np.argsort(-scores, kind="stable")[: LAST_NEGATIVE * policy.candidates_per_query]
        ranked[query] = order.tolist()
    return Drawn(
        corpus,
        seed,
        policy,
        [rows[0] for rows in asked],
        ranked,
        {rows[0]: rows[1:] for rows in asked},
    )


def pool(campaign: Drawn) -> Arm:
    shipped = map(json.loads, SHIPPED.read_text().splitlines())
    controls = Controls(campaign)
    for one in shipped:
        controls.add("positive", one["id"], (one["query"], one["question"], one["answer"]), 1)
    for number, (query, row) in enumerate(_random_pairs(campaign)):
        known = campaign.same(query, row) or (0 if campaign.corpus.complete else None)
        controls.add("negative", f"n{number}", campaign.text(query, row), known)
    specs = pack(
        campaign.refs,
        positives=list(controls.texts["positive"]),
        negatives=list(controls.texts["negative"]),
        policy=campaign.policy,
        seed=campaign.seed,
    )
    return controls.arm(specs)


def _random_pairs(campaign: Drawn) -> list[tuple[int, int]]:
    """As packing draws them, by the vectors alone."""
    vectors, policy = campaign.corpus.vectors, campaign.policy
    count = negatives_needed(len(campaign.refs), policy)
    size = len(vectors)
    rows = random.Random(campaign.seed).sample(range(size), min(size, 4 * count + 50))
    pairs = draw_negatives(
        [str(row) for row in rows],
        count=count,
        seed=campaign.seed,
        too_near=lambda one, other: (
            float(vectors[int(one)] @ vectors[int(other)]) > policy.negative_max_cosine
        ),
    )
    return [(int(query), int(row)) for query, row in pairs]


def own(
    campaign: Drawn, style: Style, answers: Mapping[str, int], how: Confirming = "unread"
) -> Arm:
    """PackingError where the drafts are too few."""
    controls = Controls(campaign)
    refs: dict[str, list[OwnControl]] = {"positive": [], "negative": []}
    for query in campaign.queries:
        for number, one in enumerate(_drafts(campaign, query, style, answers, how)):
            key = f"{query}/{number}"
            texts = (campaign.corpus.rows[query][0], one.question, one.answer)
            controls.add(one.kind, key, texts, _known(campaign, query, one))
            refs[one.kind].append(OwnControl(key, str(query)))
    specs = pack_own(
        campaign.refs,
        positives=refs["positive"],
        negatives=refs["negative"],
        policy=campaign.policy,
        seed=campaign.seed,
    )
    return controls.arm(specs)


def _drafts(
    campaign: Drawn, query: int, style: Style, answers: Mapping[str, int], how: Confirming
) -> list[Draft]:
    rows, depth = campaign.corpus.rows, campaign.policy.candidates_per_query
    pairs = [Pair(*rows[row][:2]) for row in campaign.ranked[query]]
    ranked = Ranked(rows[query][0], rows[query][1], pairs[:depth], pairs[depth:])
    found = draft(ranked, style, answers)
    if how == "unread":
        return found
    if how == "read":
        return [one for one in found if not _is_dismissed(campaign, query, one)]
    written = [Draft("positive", "copy", *rows[row][:2]) for row in campaign.kept_out[query]]
    negatives = [one for one in found if one.kind == "negative"]
    return [*written, *(one for one in negatives if not _known(campaign, query, one))]


def _is_dismissed(campaign: Drawn, query: int, one: Draft) -> bool:
    is_wrong = one.kind == "negative" and bool(_known(campaign, query, one))
    draw = fraction(campaign.seed, "owner", str(query), one.question)
    return is_wrong and draw < WorkerProfiles().accuracy


def _known(campaign: Drawn, query: int, one: Draft) -> int | None:
    """Whether the gold says that it asks the same; of a rewording nobody has said anything."""
    corpus = campaign.corpus
    if one.origin == "rewording":
        return None
    same = corpus.meanings[one.question] == corpus.rows[query][2]
    return int(same) if same or corpus.complete else None


class Controls:
    """Those of one campaign, by kind and key, with what is known of each."""

    def __init__(self, campaign: Drawn) -> None:
        self.campaign = campaign
        self.texts: dict[str, dict[str, Triple]] = {"positive": {}, "negative": {}}
        self.known: dict[Triple, int | None] = {}

    def add(self, kind: str, key: str, texts: Triple, known: int | None) -> None:
        self.texts[kind][key] = texts
        self.known[texts] = known

    def arm(self, specs: Sequence[HitSpec]) -> Arm:
        yes: dict[Triple, int] = {}
        items = [
            self._shown(hit, position, item, yes)
            for hit, spec in enumerate(specs)
            for position, item in enumerate(spec.items)
        ]
        positives, negatives = (self.texts[kind].values() for kind in ("positive", "negative"))
        expected = dict.fromkeys(positives, 1) | dict.fromkeys(negatives, 0)
        counts = {kind: len(texts) for kind, texts in self.texts.items()}
        return Arm(items, expected, self.known, yes, counts)

    def _shown(self, hit: int, position: int, item: ItemSpec, yes: dict[Triple, int]) -> ShownItem:
        name = hashlib.sha256(f"{self.campaign.seed}:{hit}:{position}".encode()).hexdigest()[:16]
        if item.kind != "real":
            return ShownItem(hit, position, name, *self.texts[item.kind][item.key], True)
        query, rank = map(int, item.key.split(":"))
        row = self.campaign.ranked[query][rank]
        texts = self.campaign.text(query, row)
        yes[texts] = self.campaign.same(query, row)
        return ShownItem(hit, position, name, *texts, False)
