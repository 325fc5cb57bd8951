import pytest

from annotation.crowd.emulator.state.qualifications import (
    LOCALE,
    MASTERS,
    MASTERS_SANDBOX,
    NUMBER_APPROVED,
    PERCENT_APPROVED,
    meets,
)
from tests.annotation.crowd.emulator.turk import Turk, Worker, grant, own_type, requirement

OWN = "OWNTYPE"


def guarded_hit(turk: Turk, *requirements: dict[str, object]) -> str:
    return turk.hit(hit_type=turk.hit_type(QualificationRequirements=list(requirements)))


@pytest.mark.parametrize(
    ("comparator", "values", "held", "met"),
    [
        ("Exists", [], None, False),
        ("Exists", [], 0, True),
        ("DoesNotExist", [], None, True),
        ("DoesNotExist", [], 0, False),
        ("EqualTo", [5], 5, True),
        ("EqualTo", [5], 6, False),
        ("EqualTo", [5], None, False),
        ("NotEqualTo", [5], 6, True),
        ("NotEqualTo", [5], 5, False),
        ("NotEqualTo", [5], None, False),
        ("LessThan", [5], 4, True),
        ("LessThan", [5], 5, False),
        ("LessThan", [5], None, False),
        ("LessThanOrEqualTo", [5], 5, True),
        ("LessThanOrEqualTo", [5], 6, False),
        ("GreaterThan", [5], 6, True),
        ("GreaterThan", [5], 5, False),
        ("GreaterThanOrEqualTo", [5], 5, True),
        ("GreaterThanOrEqualTo", [5], 4, False),
        ("GreaterThanOrEqualTo", [0], None, False),
        ("In", [1, 2], 2, True),
        ("In", [1, 2], 3, False),
        ("In", [1, 2], None, False),
        ("NotIn", [1, 2], 3, True),
        ("NotIn", [1, 2], 2, False),
        ("NotIn", [1, 2], None, False),
    ],
)
def test_comparators(comparator: str, values: list[int], held: int | None, met: bool) -> None:
    holding = {} if held is None else {OWN: held}
    assert meets(requirement(OWN, comparator, values), holding) is met


@pytest.mark.parametrize(
    ("comparator", "places", "met"),
    [
        ("EqualTo", ["US"], True),
        ("EqualTo", ["DE"], False),
        ("EqualTo", ["US-WA"], False),
        ("NotEqualTo", ["DE"], True),
        ("NotEqualTo", ["US"], False),
        ("In", ["DE", "US"], True),
        ("In", ["DE", "FR"], False),
        ("NotIn", ["DE", "FR"], True),
        ("NotIn", ["DE", "US"], False),
    ],
)
def test_locales(comparator: str, places: list[str], met: bool) -> None:
    names = ("Country", "Subdivision")
    values = [dict(zip(names, place.split("-"), strict=False)) for place in places]
    wanted = requirement(LOCALE, comparator, LocaleValues=values)
    assert meets(wanted, {LOCALE: "US"}) is met


@pytest.mark.parametrize("masters", [MASTERS, MASTERS_SANDBOX])
def test_the_usual_requirements_let_ada_in_and_keep_eve_out(
    turk: Turk, ada: Worker, eve: Worker, masters: str
) -> None:
    hit_id = guarded_hit(
        turk,
        requirement(masters, "Exists"),
        requirement(PERCENT_APPROVED, "GreaterThanOrEqualTo", [95]),
        requirement(NUMBER_APPROVED, "GreaterThanOrEqualTo", [100]),
        requirement(LOCALE, "EqualTo", LocaleValues=[{"Country": "US"}]),
    )
    assert ada.offers() == [hit_id]
    assert eve.offers() == []
    response = eve.accept(hit_id)
    assert response.status_code == 409
    assert "qualifications do not meet" in response.text
    ada.do(hit_id)


def test_an_excluded_worker_gets_no_more_work(turk: Turk, ada: Worker, bob: Worker) -> None:
    excluded = own_type(turk, "excluded")
    hit_id = guarded_hit(turk, requirement(excluded, "DoesNotExist"))
    grant(turk, excluded, "ABOB")
    assert ada.offers() == [hit_id]
    assert bob.offers() == []
    assert bob.accept(hit_id).status_code == 409
    turk.api.disassociate_qualification_from_worker(
        QualificationTypeId=excluded, WorkerId="ABOB", Reason="restored"
    )
    assert bob.offers() == [hit_id]


def test_not_in_keeps_out_the_earlier_and_the_unknown(
    turk: Turk, ada: Worker, bob: Worker, eve: Worker
) -> None:
    number = own_type(turk, "worker number")
    grant(turk, number, "AADA", 1)
    grant(turk, number, "ABOB", 2)
    hit_id = guarded_hit(turk, requirement(number, "NotIn", [1]))
    assert ada.offers() == []
    assert bob.offers() == [hit_id]
    assert eve.offers() == []


@pytest.mark.parametrize(
    ("guard", "status"),
    [("Accept", 200), ("PreviewAndAccept", 403), ("DiscoverPreviewAndAccept", 403)],
)
def test_a_guard_decides_whether_the_question_may_be_previewed(
    turk: Turk, eve: Worker, guard: str, status: int
) -> None:
    hit_id = guarded_hit(turk, requirement(MASTERS, "Exists", ActionsGuarded=guard))
    assert eve.preview(hit_id).status_code == status
    assert (hit_id in eve.browser.get("/worker/AEVE/hits").text) == (status == 200)
    assert eve.offers() == []
    assert eve.accept(hit_id).status_code == 409


def test_the_old_flag_guards_the_preview_too(turk: Turk, eve: Worker) -> None:
    hit_id = guarded_hit(turk, requirement(MASTERS, "Exists", RequiredToPreview=True))
    assert eve.preview(hit_id).status_code == 403


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (requirement("NOSUCHTYPE", "Exists"), "does not exist"),
        (requirement(PERCENT_APPROVED, "Exists", [1]), "takes no values"),
        (requirement(PERCENT_APPROVED, "EqualTo"), "exactly one"),
        (requirement(PERCENT_APPROVED, "EqualTo", [1, 2]), "exactly one"),
        (requirement(PERCENT_APPROVED, "In"), "takes 1 to 15"),
        (requirement(PERCENT_APPROVED, "NotIn", range(16)), "takes 1 to 15"),
        (
            requirement(PERCENT_APPROVED, "EqualTo", LocaleValues=[{"Country": "US"}]),
            "only IntegerValues",
        ),
        (requirement(LOCALE, "EqualTo", [1]), "only LocaleValues"),
        (requirement(LOCALE, "EqualTo"), "exactly one"),
        (requirement(LOCALE, "LessThan", LocaleValues=[{"Country": "US"}]), "cannot be compared"),
        (requirement(LOCALE, "In", LocaleValues=[{"Country": "US"}] * 31), "takes 1 to 30"),
        (requirement(MASTERS, "EqualTo", [1]), "Exists or DoesNotExist"),
    ],
)
def test_a_requirement_that_makes_no_sense_is_refused(
    turk: Turk, wanted: dict[str, object], complaint: str
) -> None:
    with pytest.raises(turk.api.exceptions.RequestError, match=complaint):
        turk.hit_type(QualificationRequirements=[wanted])


def test_a_hit_has_at_most_ten_requirements(turk: Turk) -> None:
    wanted = [requirement(NUMBER_APPROVED, "GreaterThan", [number]) for number in range(11)]
    turk.hit_type(QualificationRequirements=wanted[:10])
    with pytest.raises(turk.api.exceptions.RequestError, match="at most 10"):
        turk.hit_type(QualificationRequirements=wanted)


def test_an_inactive_type_cannot_be_required(turk: Turk) -> None:
    made = turk.api.create_qualification_type(
        Name="resting", Description="d", QualificationTypeStatus="Inactive"
    )
    type_id = made["QualificationType"]["QualificationTypeId"]
    with pytest.raises(turk.api.exceptions.RequestError, match="not Active"):
        turk.hit_type(QualificationRequirements=[requirement(type_id, "Exists")])
