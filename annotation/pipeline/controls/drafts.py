"""Drafts of controls from a campaign's own queries and corpus: a person confirms each."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.db import IntegrityError, transaction
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import Campaign, Control, ControlCandidate, ControlDraft
from annotation.pipeline.controls.controls import Texts, UnfitTexts, add_own, cleaned
from annotation.protocol.labels.control_drafts import LAST_NEGATIVE, Pair, Ranked, draft
from annotation.protocol.labels.rewordings import Style
from core.errors import UserError
from core.progress import Progress, no_progress
from core.text.clean import question_key
from retrieval.models import Candidate, QaPair, Query
from retrieval.models.corpus import pairs_of
from retrieval.query_sets.deeper_ranks import retrieve_deeper
from retrieval.vectors.types import Encoder

MOST_QUERIES = 200  # at a time: nobody goes through more drafts at once
MOST_READ = 20_000  # pairs, to know how the corpus sounds
LOOKUP = 50  # queries, with their candidates and the ranks below
State = ControlCandidate.State


@dataclass(frozen=True)
class DraftCounts:
    queries: int
    new: int
    open: int  # that wait for a person now


def draft_controls(
    campaign: Campaign,
    *,
    device: str = "auto",
    encoder: Encoder | None = None,
    progress: Progress = no_progress,
) -> DraftCounts:
    """Run again it drafts for others of its queries; no question is drafted twice for a query."""
    _check_drafted_here(campaign)
    known = campaign.control_drafts.count()
    depth, query_set = campaign.policy.candidates_per_query, campaign.query_set
    deeper = retrieve_deeper(
        query_set,
        queries=min(MOST_QUERIES, query_set.queries.count()),
        k=depth,
        to=LAST_NEGATIVE * depth,
        as_far_as_it_goes=True,
        seed=campaign.seed + known,
        device=device,
        encoder=encoder,
        progress=progress,
    )
    retrieved = deeper.retrieved
    rows = _drafts(campaign, retrieved.queries, retrieved.pair_ids.tolist())
    ControlDraft.objects.bulk_create(rows, ignore_conflicts=True)
    new = campaign.control_drafts.count() - known
    waiting = campaign.control_drafts.filter(state=State.OPEN).count()
    return DraftCounts(len(retrieved.queries), new, waiting)


def add_draft(
    campaign: Campaign, kind: Control.Kind, query: str, question: str, answer: str
) -> ControlDraft:
    """In a person's words, or a model's."""
    try:
        draft = given_draft(campaign, kind, Texts(query, question, answer))
        with transaction.atomic():
            draft.save()
    except UnfitTexts as fault:
        raise UserError(f"This is no draft of a control: {fault}.") from fault
    except IntegrityError as error:
        raise UserError("This question has been drafted for the query already.") from error
    return draft


def given_draft(campaign: Campaign, kind: Control.Kind, given: Texts) -> ControlDraft:
    """Unsaved. Without an answer, a positive has its query's own. Raises UnfitTexts."""
    asked = campaign.query_set.queries.filter(question_key=question_key(given.query)).first()
    if asked is None:
        raise UnfitTexts(f"the campaign has no query {given.query!r}")
    answer = given.answer
    if not answer and kind == Control.Kind.POSITIVE:
        answer = _answer_of(campaign, asked)
    texts = cleaned(Texts(asked.text, given.question, answer), campaign.policy.task_type)
    return ControlDraft(
        campaign=campaign,
        kind=kind,
        origin=ControlDraft.Origin.GIVEN,
        query=asked,
        question=texts.question,
        answer=texts.answer,
    )


def in_turns(waiting: QuerySet[ControlDraft]) -> QuerySet[ControlDraft]:
    """A first of each query and kind, then a second: drafts for one query are much alike."""
    same = ControlDraft.objects.filter(query=OuterRef("query"), kind=OuterRef("kind"))
    decided = same.exclude(state=State.OPEN).order_by().values("query")
    before = Subquery(decided.annotate(drafts=Count("pk")).values("drafts"))
    return waiting.order_by(Coalesce(before, 0), "pk")


@transaction.atomic
def confirm(draft: ControlDraft, question: str, answer: str, *, by: str, now: datetime) -> Control:
    """The query stays the campaign's: it comes back as the real ones do."""
    _decide(draft, State.CONFIRMED, by=by, now=now)
    kept = add_own(draft.campaign, draft.kind, Texts(draft.query.text, question, answer))
    ControlDraft.objects.filter(pk=draft.pk).update(control=kept)
    return kept


def dismiss(draft: ControlDraft, *, by: str, now: datetime) -> None:
    _decide(draft, State.DISMISSED, by=by, now=now)


def _decide(draft: ControlDraft, state: ControlCandidate.State, *, by: str, now: datetime) -> None:
    still_open = ControlDraft.objects.filter(pk=draft.pk, state=State.OPEN)
    if not still_open.update(state=state, decided_by=by, decided_at=now):
        raise UserError("Somebody has decided on this draft already.")


def _check_drafted_here(campaign: Campaign) -> None:
    if campaign.query_set.brings_candidates:
        raise UserError(
            f"Campaign {campaign} came with its candidates: no search of ours says what follows "
            "them, so no controls are drafted."
        )


def _drafts(
    campaign: Campaign, queries: Sequence[Query], below: Sequence[Sequence[int]]
) -> Iterator[ControlDraft]:
    pairs = pairs_of(campaign.query_set.corpus).filter(withdrawn_at=None)
    heard = list(pairs.values_list("question", "answer")[:MOST_READ])
    style = Style.of(question for question, _ in heard)
    answers = Counter(answer for _, answer in heard)
    ranks = iter(zip(queries, below, strict=True))
    while some := list(islice(ranks, LOOKUP)):
        for query, ranked in _ranked(campaign, some):
            for one in draft(ranked, style, answers):
                yield ControlDraft(
                    campaign=campaign,
                    kind=one.kind,
                    origin=one.origin,
                    query=query,
                    question=one.question,
                    answer=one.answer,
                )


def _ranked(
    campaign: Campaign, ranks: Sequence[tuple[Query, Sequence[int]]]
) -> Iterator[tuple[Query, Ranked]]:
    candidates: dict[int, list[Pair]] = {query.pk: [] for query, _ in ranks}
    rows = Candidate.objects.filter(query__in=candidates).order_by("query", "rank")
    for query_pk, *texts in rows.values_list("query_id", "pair__question", "pair__answer"):
        candidates[query_pk].append(Pair(*texts))
    texts_of = QaPair.objects.in_bulk({pk for _, pks in ranks for pk in pks})
    own = _own_answers(campaign, [query for query, _ in ranks])
    for query, pks in ranks:
        known = candidates[query.pk]
        below = [Pair(texts_of[pk].question, texts_of[pk].answer) for pk in pks]
        answer = own.get(query.question_key) or known[0].answer
        yield query, Ranked(query.text, answer, known, below)


def _answer_of(campaign: Campaign, query: Query) -> str:
    """The query's own, or its nearest candidate's; empty where neither is known."""
    nearest = query.candidates.order_by("rank").values_list("pair__answer", flat=True)
    return _own_answers(campaign, [query]).get(query.question_key) or nearest.first() or ""


def _own_answers(campaign: Campaign, queries: Sequence[Query]) -> dict[str, str]:
    """By question; of a query that came in a file the corpus has none as a rule."""
    pairs = pairs_of(campaign.query_set.corpus).filter(
        question_key__in=[query.question_key for query in queries], withdrawn_at=None
    )
    return dict(pairs.order_by("-pk").values_list("question_key", "answer"))
