from annotation.crowd.emulator.state.qualifications import LOCALE, MASTERS, MASTERS_SANDBOX
from tests.annotation.crowd.emulator.turk import Turk, Worker, grant, own_type, refusal


def test_a_types_name_is_the_requesters_only_once(turk: Turk) -> None:
    own_type(turk, "excluded")
    code, message = refusal(
        turk.api.create_qualification_type,
        Name="excluded",
        Description="d",
        QualificationTypeStatus="Active",
    )
    assert code == "QualificationTypeAlreadyExists"
    assert '"excluded"' in message


def test_types_are_found_by_words_and_by_owner(turk: Turk) -> None:
    mine = own_type(turk, "Excluded from Campaign 100%")

    def found(**parameters: object) -> list[str]:
        pages = turk.api.get_paginator("list_qualification_types")
        return [
            each["QualificationTypeId"]
            for page in pages.paginate(**parameters, PaginationConfig={"PageSize": 2})
            for each in page["QualificationTypes"]
        ]

    assert found(MustBeRequestable=False)[-1] == mine
    assert len(found(MustBeRequestable=False)) == 7
    assert found(MustBeRequestable=True) == [mine]
    assert found(MustBeRequestable=False, MustBeOwnedByCaller=True) == [mine]
    assert found(MustBeRequestable=False, Query="excluded FROM") == [mine]
    assert found(MustBeRequestable=False, Query="%") == [mine]
    assert found(MustBeRequestable=False, Query="masters") == [MASTERS, MASTERS_SANDBOX]
    assert found(MustBeRequestable=False, Query="nothing like it") == []


def test_a_type_is_shown_as_it_was_made(turk: Turk) -> None:
    shown = turk.api.get_qualification_type(QualificationTypeId=own_type(turk))
    assert shown["QualificationType"]["Name"] == "known workers"
    assert shown["QualificationType"]["IsRequestable"] is True
    system = turk.api.get_qualification_type(QualificationTypeId=LOCALE)
    assert system["QualificationType"]["IsRequestable"] is False


def test_a_score_is_granted_changed_revoked_and_granted_again(turk: Turk, ada: Worker) -> None:
    type_id = own_type(turk)
    who = {"QualificationTypeId": type_id, "WorkerId": "AADA"}
    score = turk.api.get_qualification_score
    assert refusal(score, **who)[0] == "QualificationDoesNotExist"
    turk.api.associate_qualification_with_worker(**who)
    assert score(**who)["Qualification"]["IntegerValue"] == 1
    grant(turk, type_id, "AADA", 42)
    assert score(**who)["Qualification"]["IntegerValue"] == 42
    assert score(**who)["Qualification"]["GrantTime"].timestamp() == turk.clock.now
    turk.api.disassociate_qualification_from_worker(**who)
    assert refusal(score, **who)[0] == "InvalidQualificationState"
    again = refusal(turk.api.disassociate_qualification_from_worker, **who)
    assert again[0] == "InvalidQualificationState"
    grant(turk, type_id, "AADA", 7)
    assert score(**who)["Qualification"]["Status"] == "Granted"


def test_workers_read_of_what_they_are_given_and_why_it_is_taken_away(
    turk: Turk, ada: Worker
) -> None:
    who = {"QualificationTypeId": own_type(turk), "WorkerId": "AADA"}
    turk.api.associate_qualification_with_worker(**who, IntegerValue=7)
    turk.api.associate_qualification_with_worker(**who, IntegerValue=8, SendNotification=False)
    turk.api.disassociate_qualification_from_worker(**who, Reason="Too many slips.")
    turk.api.associate_qualification_with_worker(**who, SendNotification=False)
    turk.api.disassociate_qualification_from_worker(**who)
    assert [tuple(row) for row in turk.rows("SELECT subject, text FROM notifications")] == [
        ("You have the qualification known workers", "Your value: 7. of this requester"),
        ("You no longer have the qualification known workers", "Too many slips."),
    ]


def test_workers_are_listed_by_the_state_of_their_qualification(turk: Turk) -> None:
    type_id = own_type(turk)
    ids = [turk.worker(f"A{number:02d}").id for number in range(12)]
    for worker_id in ids:
        grant(turk, type_id, worker_id)
    turk.api.disassociate_qualification_from_worker(QualificationTypeId=type_id, WorkerId=ids[3])

    def listed(**filters: str) -> list[str]:
        pages = turk.api.get_paginator("list_workers_with_qualification_type")
        return [
            each["WorkerId"]
            for page in pages.paginate(QualificationTypeId=type_id, **filters)
            for each in page["Qualifications"]
        ]

    assert listed() == listed(Status="Granted") == [each for each in ids if each != ids[3]]
    assert listed(Status="Revoked") == [ids[3]]


def test_only_own_types_and_known_workers_can_be_granted(turk: Turk, ada: Worker) -> None:
    associate = turk.api.associate_qualification_with_worker
    assert refusal(associate, QualificationTypeId="NOSUCH", WorkerId="AADA")[0] == (
        "QualificationTypeDoesNotExist"
    )
    assert refusal(associate, QualificationTypeId=MASTERS, WorkerId="AADA")[0] == (
        "PermissionDeniedException"
    )
    assert refusal(associate, QualificationTypeId=own_type(turk), WorkerId="ANOBODY")[0] == (
        "WorkerDoesNotExist"
    )
