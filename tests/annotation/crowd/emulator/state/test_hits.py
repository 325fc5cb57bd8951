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


# Review of what is done


def reviewable(turk: Turk, **filters: str) -> list[str]:
    pages = turk.api.get_paginator("list_reviewable_hits")
    size = {"PageSize": 2}
    return [
        hit["HITId"]
        for page in pages.paginate(**filters, PaginationConfig=size)
        for hit in page["HITs"]
    ]


def test_hits_are_listed_by_their_state_and_type(turk: Turk, ada: Worker) -> None:
    other = turk.hit_type(Title="Other")
    done = [turk.hit(), turk.hit(), turk.hit(hit_type=other)]
    for hit_id in done:
        ada.do(hit_id)
    turk.hit()
    taken = turk.hit()
    ada.take(taken)
    assert reviewable(turk) == reviewable(turk, Status="Reviewable") == done[::-1]
    assert reviewable(turk, HITTypeId=other) == [done[2]]
    turk.api.update_hit_review_status(HITId=done[0])
    assert reviewable(turk, Status="Reviewing") == [done[0]]
    assert reviewable(turk) == [done[2], done[1]]
    turk.api.update_hit_review_status(HITId=done[0], Revert=True)
    assert reviewable(turk) == done[::-1]
    turk.api.approve_assignment(AssignmentId=turk.assignments(done[1])[0]["AssignmentId"])
    turk.api.delete_hit(HITId=done[1])
    assert reviewable(turk) == [done[2], done[0]]


def test_only_a_reviewable_hit_is_reviewed_and_only_that_reverted(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit()
    call = turk.api.update_hit_review_status
    assert refusal(call, HITId=hit_id)[0] == "InvalidHITState"
    ada.do(hit_id)
    assert refusal(call, HITId=hit_id, Revert=True)[0] == "InvalidHITState"
    call(HITId=hit_id)
    assert turk.shown(hit_id)["HITStatus"] == "Reviewing"
    assert "'Reviewing'" in refusal(call, HITId=hit_id)[1]
    assert refusal(call, HITId="NOSUCH")[0] == "HITDoesNotExist"


@pytest.mark.parametrize("more", ["assignments", "time"])
def test_what_is_extended_is_to_be_reviewed_anew(turk: Turk, ada: Worker, more: str) -> None:
    hit_id = turk.hit(max_assignments=2)
    ada.do(hit_id)
    turk.api.update_expiration_for_hit(HITId=hit_id, ExpireAt=0)
    turk.api.update_hit_review_status(HITId=hit_id)
    if more == "assignments":
        turk.api.create_additional_assignments_for_hit(
            HITId=hit_id, NumberOfAdditionalAssignments=1
        )
        assert turk.shown(hit_id)["HITStatus"] == "Reviewable"
    else:
        turk.api.update_expiration_for_hit(HITId=hit_id, ExpireAt=turk.clock.now + 60)
        assert turk.shown(hit_id)["HITStatus"] == "Assignable"
        turk.clock.forward(61)
        assert turk.shown(hit_id)["HITStatus"] == "Reviewable"


def test_a_hit_in_review_can_be_deleted(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit()
    turk.api.approve_assignment(AssignmentId=ada.do(hit_id))
    turk.api.update_hit_review_status(HITId=hit_id)
    turk.api.delete_hit(HITId=hit_id)
    assert turk.shown(hit_id)["HITStatus"] == "Disposed"


def test_no_hit_has_results_of_a_policy(turk: Turk) -> None:
    hit_id = turk.hit()
    answer = turk.api.list_review_policy_results_for_hit(HITId=hit_id)
    assert {key: value for key, value in answer.items() if key != "ResponseMetadata"} == {
        "HITId": hit_id
    }
    call = turk.api.list_review_policy_results_for_hit
    assert refusal(call, HITId="NOSUCH")[0] == "HITDoesNotExist"


def test_no_answer_is_a_file(turk: Turk, ada: Worker) -> None:
    call = turk.api.get_file_upload_url
    assignment_id = ada.do(turk.hit())
    code, message = refusal(call, AssignmentId=assignment_id, QuestionIdentifier="q")
    assert code == "NotSupported"
    assert "FileUploadAnswer" in message
    missing = refusal(call, AssignmentId="NOSUCH", QuestionIdentifier="q")
    assert missing[0] == "AssignmentDoesNotExist"
