import pytest
from botocore.exceptions import ClientError

from tests.annotation.crowd.emulator.turk import DAY, Turk, Worker, question, refusal, requirement


def test_the_same_parameters_give_the_same_hit_type(turk: Turk) -> None:
    assert turk.hit_type() == turk.hit_type(Keywords="")
    assert turk.hit_type(Reward="0.10") == turk.hit_type(Reward="0.1")
    assert turk.hit_type() != turk.hit_type(Title="Another title")


def test_qualification_requirements_make_another_hit_type(turk: Turk) -> None:
    percent = requirement("000000000000000000L0", "GreaterThanOrEqualTo", [95])
    assert turk.hit_type(QualificationRequirements=[percent]) != turk.hit_type()


def test_a_new_hit_is_shown_as_it_was_made(turk: Turk) -> None:
    hit = turk.shown(turk.hit(max_assignments=2, RequesterAnnotation="hit-17"))
    assert hit["Title"] == "Same question?"
    assert hit["Question"] == question()
    assert hit["Reward"] == "0.15"
    assert hit["RequesterAnnotation"] == "hit-17"
    assert hit["CreationTime"].timestamp() == turk.clock.now
    assert hit["Expiration"].timestamp() == turk.clock.now + DAY
    assert hit["AutoApprovalDelayInSeconds"] == 30 * DAY
    assert hit["HITReviewStatus"] == "NotReviewed"
    assert len(hit["HITId"]) == len(hit["HITTypeId"]) == len(hit["HITGroupId"]) == 30


def test_requirements_come_back_with_their_guard(turk: Turk) -> None:
    masters = requirement("2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "Exists")
    hit = turk.shown(turk.hit(hit_type=turk.hit_type(QualificationRequirements=[masters])))
    guard = {"ActionsGuarded": "Accept", "RequiredToPreview": False}
    assert hit["QualificationRequirements"] == [masters | guard]


def test_a_token_used_again_names_the_hit_that_exists(turk: Turk) -> None:
    hit_id = turk.hit(UniqueRequestToken="once")
    create = turk.api.create_hit_with_hit_type
    code, message = refusal(
        create,
        HITTypeId=turk.hit_type(),
        LifetimeInSeconds=DAY,
        Question=question(),
        UniqueRequestToken="once",
    )
    assert code == "HitAlreadyExists"
    assert hit_id in message
    assert len(turk.rows("SELECT 1 FROM hits")) == 1
    assert turk.balance() == ("9999.82", "0.18")


def test_a_token_is_forgotten_after_24_hours(turk: Turk) -> None:
    first = turk.hit(UniqueRequestToken="once")
    turk.clock.forward(DAY - 1)
    with pytest.raises(ClientError, match=first):
        turk.hit(UniqueRequestToken="once")
    turk.clock.forward(1)
    second = turk.hit(UniqueRequestToken="once")
    assert second != first
    with pytest.raises(ClientError, match=second):
        turk.hit(UniqueRequestToken="once")


def test_states_and_counts_follow_the_work(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id = turk.hit(max_assignments=2)
    assert turk.counts(hit_id) == ("Assignable", 0, 2, 0)
    first = ada.take(hit_id)
    assert turk.counts(hit_id) == ("Assignable", 1, 1, 0)
    second = bob.take(hit_id)
    assert turk.counts(hit_id) == ("Unassignable", 2, 0, 0)
    ada.submit(first)
    assert turk.counts(hit_id) == ("Unassignable", 1, 0, 0)
    bob.submit(second)
    assert turk.counts(hit_id) == ("Reviewable", 0, 0, 0)
    turk.api.approve_assignment(AssignmentId=first)
    turk.api.reject_assignment(AssignmentId=second, RequesterFeedback="both controls missed")
    assert turk.counts(hit_id) == ("Reviewable", 0, 0, 2)


def test_an_expired_hit_takes_nobody_but_finishes_its_work(
    turk: Turk, ada: Worker, bob: Worker
) -> None:
    hit_id = turk.hit(max_assignments=2, LifetimeInSeconds=100)
    assignment_id = ada.take(hit_id)
    turk.clock.forward(99)
    assert bob.offers() == [hit_id]
    turk.clock.forward(1)
    assert bob.offers() == []
    assert "expired" in bob.accept(hit_id).text
    assert turk.counts(hit_id) == ("Unassignable", 1, 0, 0)
    assert ada.submit(assignment_id).status_code == 200
    assert turk.counts(hit_id) == ("Reviewable", 0, 0, 0)


def test_all_hits_are_listed_in_pages_the_newest_first(turk: Turk) -> None:
    made = [turk.hit(RequesterAnnotation=str(number)) for number in range(23)]
    pages = list(turk.api.get_paginator("list_hits").paginate())
    assert [page["NumResults"] for page in pages] == [10, 10, 3]
    assert [hit["HITId"] for page in pages for hit in page["HITs"]] == made[::-1]
    assert "NextToken" not in turk.api.list_hits(MaxResults=23)


def test_a_hit_made_between_two_pages_shifts_nothing(turk: Turk) -> None:
    made = [turk.hit() for _ in range(4)]
    first = turk.api.list_hits(MaxResults=2)
    turk.hit()
    second = turk.api.list_hits(MaxResults=2, NextToken=first["NextToken"])
    assert [hit["HITId"] for hit in first["HITs"] + second["HITs"]] == made[::-1]


@pytest.mark.parametrize("token", ["rubbish", "!!", "AAAA", "A" * 255, "\u00e9"])
def test_a_forged_next_token_is_refused(turk: Turk, token: str) -> None:
    code, message = refusal(turk.api.list_hits, NextToken=token)
    assert code == "InvalidParameterValue"
    assert "NextToken" in message


def test_a_next_token_is_good_for_its_own_query_only(turk: Turk) -> None:
    turk.hit()
    turk.hit()
    token = turk.api.list_hits(MaxResults=1)["NextToken"]
    listing = turk.api.list_qualification_types
    code, _ = refusal(listing, MustBeRequestable=False, NextToken=token)
    assert code == "InvalidParameterValue"


def test_extending_opens_places_and_makes_the_hit_assignable_again(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit()
    ada.do(hit_id)
    assert turk.counts(hit_id)[0] == "Reviewable"
    turk.api.create_additional_assignments_for_hit(HITId=hit_id, NumberOfAdditionalAssignments=2)
    assert turk.counts(hit_id) == ("Assignable", 0, 2, 0)
    assert turk.shown(hit_id)["MaxAssignments"] == 3


def test_an_extension_is_carried_out_once_for_its_token(turk: Turk) -> None:
    hit_id = turk.hit()
    extend = turk.api.create_additional_assignments_for_hit
    first = extend(HITId=hit_id, NumberOfAdditionalAssignments=1, UniqueRequestToken="more")
    code, message = refusal(
        extend, HITId=hit_id, NumberOfAdditionalAssignments=1, UniqueRequestToken="more"
    )
    assert code == "IdempotencyTokenAlreadyProcessed"
    assert first["ResponseMetadata"]["RequestId"] in message
    assert turk.shown(hit_id)["MaxAssignments"] == 2
    turk.clock.forward(DAY - 1)
    refusal(extend, HITId=hit_id, NumberOfAdditionalAssignments=1, UniqueRequestToken="more")
    extend(HITId=turk.hit(), NumberOfAdditionalAssignments=1, UniqueRequestToken="other")


def test_the_tokens_of_hits_and_of_extensions_are_apart(turk: Turk) -> None:
    hit_id = turk.hit(UniqueRequestToken="same")
    turk.api.create_additional_assignments_for_hit(
        HITId=hit_id, NumberOfAdditionalAssignments=1, UniqueRequestToken="same"
    )
    assert turk.shown(hit_id)["MaxAssignments"] == 2


def test_fewer_than_ten_places_cannot_grow_to_ten(turk: Turk) -> None:
    hit_id = turk.hit(max_assignments=5)
    extend = turk.api.create_additional_assignments_for_hit
    extend(HITId=hit_id, NumberOfAdditionalAssignments=4)
    code, _ = refusal(extend, HITId=hit_id, NumberOfAdditionalAssignments=1)
    assert code == "InvalidMaximumAssignmentsIncrease"
    assert turk.shown(hit_id)["MaxAssignments"] == 9


def test_ten_places_can_grow(turk: Turk) -> None:
    hit_id = turk.hit(max_assignments=10)
    turk.api.create_additional_assignments_for_hit(HITId=hit_id, NumberOfAdditionalAssignments=90)
    assert turk.shown(hit_id)["MaxAssignments"] == 100


def test_extending_an_expired_hit_opens_no_place_and_holds_no_money(turk: Turk) -> None:
    hit_id = turk.hit()
    turk.clock.forward(DAY)
    turk.api.create_additional_assignments_for_hit(HITId=hit_id, NumberOfAdditionalAssignments=2)
    assert turk.counts(hit_id) == ("Reviewable", 0, 0, 0)
    assert turk.balance() == ("10000.00", "0.00")


@pytest.mark.parametrize(
    ("operation", "parameters", "code"),
    [
        ("get_hit", {"HITId": "NOSUCHHIT"}, "HITDoesNotExist"),
        ("list_assignments_for_hit", {"HITId": "NOSUCHHIT"}, "HITDoesNotExist"),
        (
            "create_additional_assignments_for_hit",
            {"HITId": "NOSUCHHIT", "NumberOfAdditionalAssignments": 1},
            "HITDoesNotExist",
        ),
        (
            "create_hit_with_hit_type",
            {"HITTypeId": "NOSUCHTYPE", "LifetimeInSeconds": 60, "Question": question()},
            "HITTypeDoesNotExist",
        ),
    ],
)
def test_what_does_not_exist_is_refused_by_its_name(
    turk: Turk, operation: str, parameters: dict[str, object], code: str
) -> None:
    found, message = refusal(getattr(turk.api, operation), **parameters)
    assert found == code
    assert "NOSUCH" in message
