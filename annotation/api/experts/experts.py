"""What experts say of triplets: asked blind, as on their page."""

from typing import Any

from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import by_api, record
from annotation.access.roles import ADJUDICATE
from annotation.api.base.access import campaign_of, user_of
from annotation.crowd.inhouse.members import member_of
from annotation.models import Campaign, ExpertLabel, Triplet
from annotation.pipeline.adjudicate import WHY_NOT, Pile, What, piles_of
from annotation.pipeline.gold.gold_file import MAX_NOTE
from core.rest.fields import Text, Whole
from core.rest.openapi import operation
from core.rest.pagination import KeyPages, page
from core.rest.parsing import body, query
from core.text.clean import clean_text

TAG = "labels"
PILE = (
    "unresolved, tied (where the policy says `decide`), disagreement, reported, or a random sample "
    "of the labelled ones (for an adjudicator without another role)"
)
LARGEST = 2**63 - 1
DRAWN = "annotation.expert_label_next"


class ExpertRow(serializers.Serializer[ExpertLabel]):
    id = serializers.IntegerField(source="pk")
    triplet = serializers.IntegerField(source="triplet_id")
    expert = serializers.CharField()
    label = serializers.IntegerField()  # type: ignore[assignment]
    blind_label = serializers.IntegerField(
        allow_null=True,
        help_text="the label given before the expert saw the votes, if it changed since",
    )
    source = serializers.ChoiceField(choices=ExpertLabel.Source.choices)  # type: ignore[assignment]
    adjudicated = serializers.BooleanField(
        help_text="whether the label decides the triplet where the policy says `decide`; "
        "an imported or sampled one only measures"
    )
    note = serializers.CharField()
    created_at = serializers.DateTimeField()


class NewLabel(serializers.Serializer[dict[str, Any]]):
    draw = Text(
        max_length=500,
        required=False,
        default="",
        allow_blank=True,
        allow_null=True,
        help_text="the draw that came with the triplet, for the random sample",
    )
    triplet = Whole(min_value=1, max_value=LARGEST)
    label = Whole(min_value=0, max_value=1)  # type: ignore[assignment]
    pile = serializers.ChoiceField(choices=What.values, default=What.UNRESOLVED, help_text=PILE)
    note = Text(max_length=MAX_NOTE, required=False, default="", allow_blank=True)


class PileQuery(serializers.Serializer[dict[str, Any]]):
    pile = serializers.ChoiceField(choices=What.values, default=What.UNRESOLVED, help_text=PILE)


class LabelsFilter(serializers.Serializer[dict[str, Any]]):
    expert = serializers.CharField(required=False, max_length=150)
    triplet = serializers.IntegerField(required=False, min_value=1, max_value=LARGEST)


class Blind(serializers.Serializer[Triplet]):
    """A triplet without a word of what the crowd said of it."""

    triplet = serializers.IntegerField(source="pk")
    query = serializers.CharField(source="candidate.query.text")
    question = serializers.CharField(source="candidate.pair.question")
    answer = serializers.CharField(source="candidate.pair.answer")


class NextAnswer(serializers.Serializer[dict[str, Any]]):
    next = Blind(allow_null=True, help_text="null: no triplet is left")
    draw = serializers.CharField(
        allow_null=True,
        help_text="for the random sample: send it back to show that the triplet was drawn",
    )


ROW = {
    "id": 9,
    "triplet": 77,
    "expert": "cleo",
    "label": 1,
    "blind_label": None,
    "source": "adjudication",
    "adjudicated": True,
    "note": "",
    "created_at": "2026-11-22T12:00:00Z",
}
SHOWN = {
    "triplet": 77,
    "query": "How is bread made?",
    "question": "how do I bake bread",
    "answer": "Of flour, water, yeast and salt.",
}


def pile_of(request: Request, name: str, what: str) -> Pile:
    user = user_of(request)
    member = member_of(user)
    worker = member.worker_id if member else None
    campaign = campaign_of(request, name, ADJUDICATE)
    if What(what) not in piles_of(campaign, user):
        raise PermissionDenied(WHY_NOT[What(what)])
    return Pile(campaign, What(what), expert=user.get_username(), worker_id=worker)


def _draw(pile: Pile, triplet: Triplet) -> str:
    """That it was drawn for this expert, though others' labels change the draw meanwhile."""
    return signing.dumps([pile.campaign.pk, pile.expert, triplet.pk], salt=DRAWN)


def _drawn(pile: Pile, draw: str) -> list[int]:
    """The triplet of a draw of this expert's own."""
    try:
        campaign, expert, triplet = signing.loads(draw, salt=DRAWN)
    except signing.BadSignature:
        return []
    return [triplet] if (campaign, expert) == (pile.campaign.pk, pile.expert) else []


def _of_campaign(request: Request, campaign: Campaign) -> QuerySet[ExpertLabel]:
    """Of triplets that the reader has labelled: the others they are to decide blind."""
    me = user_of(request).get_username()
    mine = ExpertLabel.objects.filter(triplet=OuterRef("triplet"), expert=me)
    return ExpertLabel.objects.filter(Exists(mine), triplet__campaign=campaign)


class ExpertLabels(APIView):
    pagination_class = KeyPages

    @operation(
        "expert_label_list",
        "List experts' labels",
        tag=TAG,
        description="You see the labels of other experts after you have labelled the triplet.",
        parameters=[LabelsFilter],
        answers={200: ExpertRow(many=True)},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        given = _of_campaign(request, campaign_of(request, name, ADJUDICATE))
        return page(self, given.filter(**query(request, LabelsFilter)), ExpertRow)

    @operation(
        "expert_label_create",
        "Give your expert label for a triplet",
        tag=TAG,
        description="The label never counts as a vote. Where the policy's `adjudication` is "
        "`decide`, it becomes the triplet's label, unless the pile is the random sample, which "
        "only measures. A second label replaces your first, so no key is needed. Answers 404 for a "
        "triplet that is not in the pile or that you have judged as an annotator. For the random "
        "sample, send the `draw` that `expert_label_next` gave you. Requires the permission "
        "`annotation.add_expertlabel`.",
        request=NewLabel,
        sent={"triplet": 77, "label": 1, "pile": "unresolved", "note": ""},
        answers={201: ExpertRow},
        example=ROW,
        refusals=[404],
    )
    def post(self, request: Request, name: str) -> Response:
        campaign_of(request, name, ADJUDICATE)
        given = body(request, NewLabel)
        pile = pile_of(request, name, given["pile"])
        triplet = pile.find(given["triplet"])
        if triplet is None or not pile.takes(triplet, _drawn(pile, given["draw"] or "")):
            raise Http404
        label = _decided(request, pile, triplet, given["label"], clean_text(given["note"]))
        return Response(ExpertRow(label).data, status=201)


@transaction.atomic
def _decided(request: Request, pile: Pile, triplet: Triplet, label: int, note: str) -> ExpertLabel:
    mine = triplet.expert_labels.filter(expert=pile.expert)
    # Not what was said: other experts read the log, and are to decide blind.
    details = {"pile": pile.what.value, "again": mine.exists()}
    pile.decide(triplet, label, note)
    by = by_api(user_of(request))
    record(by, "label", campaign=pile.campaign, subject=f"triplet {triplet.pk}", details=details)
    return mine.get()


class NextTriplet(APIView):
    @operation(
        "expert_label_next",
        "Get the next triplet to label, without the votes",
        tag=TAG,
        parameters=[PileQuery],
        answers={200: NextAnswer},
        example={"next": SHOWN, "draw": None},
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        campaign_of(request, name, ADJUDICATE)
        pile = pile_of(request, name, query(request, PileQuery)["pile"])
        triplet = pile.next([])
        draw = _draw(pile, triplet) if triplet and pile.what == What.SAMPLE else None
        return Response(NextAnswer({"next": triplet, "draw": draw}).data)


class OneExpertLabel(APIView):
    @operation(
        "expert_label_read",
        "Show an expert's label",
        tag=TAG,
        description="You see the label of another expert after you have labelled the triplet.",
        answers={200: ExpertRow},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str, pk: int) -> Response:
        given = _of_campaign(request, campaign_of(request, name, ADJUDICATE))
        return Response(ExpertRow(get_object_or_404(given, pk=pk)).data)
