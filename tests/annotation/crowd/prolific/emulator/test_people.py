"""Who may take a place, groups and their members, messages both ways."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.groups import admitting, excluding
from tests.annotation.crowd.prolific.conftest import Start
from tests.annotation.crowd.prolific.world import DAY, NOBODY, Person, Prolific


def test_an_allowlist_admits_nobody_else(prolific: Prolific) -> None:
    ada, bob = prolific.person(), prolific.person()
    rule = {"filter_id": "custom_allowlist", "selected_values": [ada.id]}
    study_id = prolific.study(filters=[rule])
    assert (ada.offers(), bob.offers()) == ([study_id], [])
    assert bob.post(f"studies/{study_id}/take").status_code == 403


def test_groups_decide_at_once_who_takes_places(prolific: Prolific) -> None:
    ada, bob = prolific.person(), prolific.person()
    groups = prolific.client.groups
    good, bad = (groups.create(prolific.workspace, name).group_id for name in ("good", "bad"))
    study_id = prolific.study(filters=[admitting([good]), excluding([bad])])
    assert (ada.offers(), bob.offers()) == ([], [])
    groups.add(good, [ada.id, bob.id])
    assert (ada.offers(), bob.offers()) == ([study_id], [study_id])
    groups.add(bad, [bob.id])
    assert (ada.offers(), bob.offers()) == ([study_id], [])
    groups.remove(bad, [bob.id])
    assert bob.offers() == [study_id]


def test_nobody_is_a_member_of_a_deleted_group(prolific: Prolific) -> None:
    ada = prolific.person()
    group = prolific.client.groups.create(prolific.workspace, "gone").group_id
    prolific.client.groups.add(group, [ada.id])
    study_id = prolific.study(filters=[admitting([group])])
    assert ada.offers() == [study_id]
    prolific.http.delete(f"/participant-groups/{group}/")
    assert ada.offers() == []


def test_studies_before_admit_and_exclude(prolific: Prolific) -> None:
    before, ada, bob = prolific.study(), prolific.person(), prolific.person()
    ada.do(before)
    allow = {"filter_id": "previous_studies_allowlist", "selected_values": [before]}
    block = {"filter_id": "previous_studies_blocklist", "selected_values": [before]}
    again, fresh = prolific.study(filters=[allow]), prolific.study(filters=[block])
    assert again in ada.offers()
    assert fresh not in ada.offers()
    assert again not in bob.offers()
    assert fresh in bob.offers()
    either = {"filter_id": "or", "selected_filters": [allow, block]}
    both = {"filter_id": "and", "selected_filters": [allow, block]}
    first, second = prolific.study(filters=[either]), prolific.study(filters=[both])
    assert first in bob.offers()
    assert second not in bob.offers()


BROKEN = [
    [{"filter_id": "age", "selected_range": {"lower": 18}}],
    [{"filter_id": "and"}],
    [{"filter_id": ["and"]}],
    [{"filter_id": "custom_allowlist", "selected_values": ["x"]}],
    ["x"],
    [admitting([NOBODY])],
]


def test_filters_that_make_no_sense_are_refused(prolific: Prolific) -> None:
    for filters in BROKEN:
        with pytest.raises(CrowdError):
            prolific.client.studies.patch(prolific.draft(), filters=filters)
    nested: dict[str, object] = {"filter_id": "custom_allowlist", "selected_values": []}
    for _ in range(20):
        nested = {"filter_id": "or", "selected_filters": [nested]}
    with pytest.raises(CrowdError, match="nested"):
        prolific.client.studies.patch(prolific.draft(), filters=[nested])


def test_the_filters_are_listed(prolific: Prolific) -> None:
    names = {it["filter_id"] for it in prolific.http.get("/filters/").json()["results"]}
    assert {"custom_allowlist", "participant_group_blocklist"} < names


@pytest.mark.parametrize(("most", "times"), [(1, 1), (2, 2), (-1, 3)])
def test_a_participant_comes_as_often_as_the_study_allows(
    prolific: Prolific, most: int, times: int
) -> None:
    ada = prolific.person()
    study_id = prolific.study(total_available_places=3, max_submissions_per_participant=most)
    for _ in range(times):
        ada.do(study_id)
    assert ada.post(f"studies/{study_id}/take").status_code == 409


def test_a_study_can_limit_how_many_are_at_work(prolific: Prolific) -> None:
    study_id = prolific.draft()
    config = {"max_concurrent_submissions": 1}
    prolific.client.studies.patch(study_id, submissions_config=config)
    prolific.client.studies.transition(study_id, "PUBLISH")
    prolific.clock.forward(2)
    ada, bob = prolific.person(), prolific.person()
    submission_id = ada.start(study_id)
    assert bob.offers() == []
    ada.complete(submission_id)
    assert bob.offers() == [study_id]


def test_many_at_once_take_no_place_twice(prolific: Prolific) -> None:
    study_id = prolific.study(total_available_places=3)
    crowd = [prolific.person() for _ in range(12)]
    with ThreadPoolExecutor(6) as pool:
        statuses = list(
            pool.map(lambda one: one.post(f"studies/{study_id}/take").status_code, crowd)
        )
    assert sorted(statuses) == [201] * 3 + [409] * 9


def test_strangers_and_unknown_studies_are_refused(prolific: Prolific) -> None:
    study_id, ada = prolific.study(), prolific.person()
    assert prolific.people.get(f"/participants/{NOBODY}/studies/").status_code == 404
    assert (
        prolific.people.post(f"/participants/{NOBODY}/studies/{study_id}/take/").status_code == 404
    )
    assert ada.post(f"studies/{NOBODY}/take").status_code == 404
    assert prolific.people.post("/participants/", json={"participant_id": "x"}).status_code == 400
    assert ada.post("nothing").status_code == 404


def test_members_come_and_go_without_harm(prolific: Prolific) -> None:
    groups, ids = prolific.client.groups, [f"{number:024x}" for number in range(3)]
    group = groups.create(prolific.workspace, "Team").group_id
    groups.add(group, ids)
    groups.add(group, ids[:1])
    groups.remove(group, [ids[2], NOBODY])
    assert groups.members(group) == ids[:2]
    prolific.http.patch(f"/participant-groups/{group}/", json={"participant_ids": [ids[2]]})
    assert groups.members(group) == [ids[2]]
    (listed,) = groups.of_workspace(prolific.workspace)
    assert (listed.name, listed.number) == ("Team", 1)
    assert prolific.http.delete(f"/participant-groups/{group}/").status_code == 204
    assert list(groups.of_workspace(prolific.workspace)) == []
    with pytest.raises(CrowdError, match="No participant group"):
        groups.members(group)


def unread(prolific: Prolific) -> list[str]:
    return [it["body"] for it in prolific.http.get("/messages/unread/").json()["results"]]


def thread(prolific: Prolific, person: Person) -> list[dict[str, Any]]:
    found = prolific.http.get("/messages/", params={"user_id": person.id}).json()
    return cast(list[dict[str, Any]], found["results"])


def test_messages_go_both_ways(prolific: Prolific) -> None:
    study_id, ada, bob = prolific.study(), prolific.person(), prolific.person()
    prolific.client.messages.send(ada.id, "Thank you <b>& goodbye</b>", study_id=study_id)
    assert ada.post("messages", body="Was it right?", study_id=study_id).status_code == 204
    prolific.clock.forward(DAY)
    prolific.client.messages.send(bob.id, "Hello", study_id=study_id)
    assert unread(prolific) == ["Was it right?"]
    assert [(it["body"], it["sender_id"] == ada.id) for it in thread(prolific, ada)] == [
        ("Thank you <b>& goodbye</b>", False),
        ("Was it right?", True),
    ]
    prolific.clock.forward(29 * DAY)
    assert thread(prolific, ada) == []
    assert unread(prolific) == []
    assert prolific.http.get("/messages/").status_code == 400
    with pytest.raises(CrowdError, match="not a participant"):
        prolific.client.messages.send(NOBODY, "Hello", study_id=study_id)


def test_a_group_and_a_list_get_a_message(prolific: Prolific) -> None:
    study_id, ada, bob = prolific.study(), prolific.person(), prolific.person()
    group = prolific.client.groups.create(prolific.workspace, "Team").group_id
    prolific.client.groups.add(group, [ada.id])
    body = {"participant_group_id": group, "body": "Once"}
    assert prolific.http.post("/messages/participant-group/", json=body).status_code == 204
    body = {"ids": [ada.id, bob.id], "body": "Twice", "study_id": study_id}
    assert prolific.http.post("/messages/bulk/", json=body).status_code == 204
    assert [it["body"] for it in ada.get("messages")] == ["Once", "Twice"]
    assert [it["body"] for it in bob.get("messages")] == ["Twice"]


def test_messages_have_a_limit_by_one_reading(start: Start) -> None:
    prolific = start(message_limit=5)
    study_id, ada = prolific.study(), prolific.person()
    prolific.client.messages.send(ada.id, "12345", study_id=study_id)
    with pytest.raises(CrowdError, match="no more than 5"):
        prolific.client.messages.send(ada.id, "123456", study_id=study_id)
