"""Qualification items, the tries at them, and the qualification of who passes."""

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from annotation.analytics.campaign.progress import progress
from annotation.analytics.campaign.status import blockers
from annotation.crowd.qualification_url import qualification_test_url
from annotation.models import Campaign, Exclusion, QualificationItem, QualificationResult, Worker
from annotation.pipeline.manual.qualification import (
    OtherItems,
    check_open,
    grant_qualification,
    items_of_try,
    take_test,
    tries_of,
)
from annotation.pipeline.outbox.messages import retry_failed
from annotation.pipeline.publishing.lifecycle import cancel, pause
from annotation.pipeline.setup.create import create_campaign
from annotation.pipeline.setup.default_instructions import default_instructions
from annotation.pipeline.setup.qualification_items import FOLDER, MOST_ROWS, read_examples
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS, TaskType
from annotation.protocol.screening.qualification import (
    TooFewItems,
    draw,
    least_right,
    percent_right,
)
from core.errors import UserError
from tests.annotation.commands.test_commands import refused
from tests.annotation.pipeline.publishing.test_top_up import disagree
from tests.conftest import SetStage
from tests.support.command_line import quorum
from tests.support.threads import together
from tests.worlds.account import Account
from tests.worlds.small_campaign import Stage, write_rows

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).parents[4]
NEAR = 0.6  # of the words of two questions, so many in common: the same item in other clothes


def item(number: int, expected: int) -> dict[str, str]:
    return {
        "query": f"how old is number {number}",
        "question": f"what is the age of {number}",
        "answer": "Ten.",
        "expected": str(expected),
        "why": "Because.",
    }


def create(tmp_path: Path, items: Path | None = None, **policy: object) -> Campaign:
    queries = write_rows(tmp_path / "queries.jsonl", [{"id": "a", "query": "how is bread made"}])
    rules = Policy.from_dict({"qualification_items": 4, **policy})
    return create_campaign("faq", policy=rules, seed=7, queries=queries, items=items)


@pytest.fixture
def stage(set_stage: SetStage) -> Stage:
    """One published HIT, for those who had three of four qualification items right."""
    stage = set_stage(candidates_per_query=1, qualification_items=4, qualification_pass_percent=75)
    stage.publish()
    return stage


def right(campaign: Campaign, *, slips: int = 0, before: int = 0) -> dict[int, int]:
    """Everything answered right, save so many, at the try after so many."""
    return {
        one.position: 1 - one.expected if number < slips else one.expected
        for number, one in enumerate(items_of_try(campaign, before))
    }


def held(mturk: Account, qualification: str) -> dict[str, int]:
    return dict(
        mturk.rows(
            "SELECT worker_id, value FROM qualifications"
            " WHERE qualification_type_id = ? AND status = 'Granted'",
            qualification,
        )
    )


# The rules


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [1, 2, 7, 8, 16])
def test_a_draw_has_as_many_of_either_side_and_no_item_twice(count: int, seed: int) -> None:
    expected = [0, 1] * 8
    drawn = draw(expected, count, seed=seed)
    sides = Counter(expected[index] for index in drawn)
    assert len(set(drawn)) == len(drawn) == count
    assert abs(sides[0] - sides[1]) == count % 2


def test_a_draw_depends_on_its_seed_alone() -> None:
    draws = [tuple(draw([0, 1] * 8, 8, seed=seed)) for seed in range(20)]
    assert tuple(draw([0, 1] * 8, 8, seed=3)) == draws[3]
    assert len(set(draws)) > 15


def test_neither_side_always_comes_first() -> None:
    firsts = Counter([0, 1][draw([0, 1], 2, seed=seed)[0]] for seed in range(40))
    assert min(firsts[0], firsts[1]) > 5


@pytest.mark.parametrize(
    ("expected", "count"), [([], 1), ([1] * 9, 2), ([0] * 9 + [1], 4), ([0, 1, 1], 4)]
)
def test_too_few_or_one_sided_items_are_no_round(expected: list[int], count: int) -> None:
    with pytest.raises(TooFewItems, match=f"there are {expected.count(0)} with 0"):
        draw(expected, count, seed=1)


def test_an_odd_item_comes_from_the_side_that_has_it() -> None:
    for seed in range(10):
        drawn = draw([0, 1, 1], 3, seed=seed)
        assert sorted(drawn) == [0, 1, 2]


@pytest.mark.parametrize(
    ("items", "percent", "least"),
    [(8, 80, 7), (10, 80, 8), (16, 75, 12), (3, 100, 3), (3, 1, 1), (100, 1, 1), (7, 50, 4)],
)
def test_the_pass_mark_is_reached_not_rounded_away(items: int, percent: int, least: int) -> None:
    assert least_right(items, percent) == least
    assert least * 100 >= percent * items
    assert (least - 1) * 100 < percent * items


def test_only_all_right_is_a_hundred_percent() -> None:
    assert [percent_right(correct, 16) for correct in (0, 8, 15, 16)] == [0, 50, 93, 100]


# The shipped items


def words(text: str) -> frozenset[str]:
    return frozenset("".join(sign if sign.isalnum() else " " for sign in text.lower()).split())


def likeness(one: str, other: str) -> float:
    first, second = words(one), words(other)
    return len(first & second) / max(1, len(first | second))


def known_questions() -> list[str]:
    """Of the demo's data, the shipped controls and the instructions' examples."""
    demo = (ROOT / "demo/qa_pairs.jsonl").read_text().splitlines()
    controls = (ROOT / "annotation/pipeline/controls/positive.jsonl").read_text().splitlines()
    questions = [json.loads(line)["question"] for line in demo + controls]
    questions += [json.loads(line)["query"] for line in controls]
    for line in default_instructions(Policy()).splitlines():
        for name in ("- **Query:** ", "- **Question:** "):
            if line.startswith(name):
                questions.append(line.removeprefix(name))
    return questions


@pytest.mark.parametrize("task", TASKS.values())
def test_the_shipped_items_are_balanced_and_explained(task: TaskType) -> None:
    examples = read_examples(FOLDER / task.qualification_items, task)
    assert Counter(each.expected for each in examples) == {0: 8, 1: 8}
    assert all(each.answer and len(each.why) > 40 for each in examples)


def test_no_shipped_item_is_near_to_one_that_workers_meet_elsewhere() -> None:
    known = known_questions()
    assert len(known) > 800
    for each in read_examples(FOLDER / PAPER_TASK.qualification_items):
        for text in (each.query, each.question):
            nearest = max(known, key=lambda other: likeness(text, other))
            assert likeness(text, nearest) < NEAR, (text, nearest)


# At the creation


def test_the_campaign_gets_as_many_items_as_its_policy_says(tmp_path: Path) -> None:
    campaign = create(tmp_path, qualification_items=6)
    rows = campaign.qualification_items.order_by("position").values_list("position", "expected")
    assert [position for position, _ in rows] == list(range(12))  # two tries of six
    assert Counter(expected for _, expected in rows[:6]) == {0: 3, 1: 3}


def test_a_policy_without_a_qualification_test_makes_none(tmp_path: Path) -> None:
    create(tmp_path, qualification_items=0)
    assert not QualificationItem.objects.exists()


def test_own_items_are_taken_instead(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "own.jsonl", [item(number, number % 2) for number in range(4)])
    campaign = create(tmp_path, path)
    assert {each.why for each in campaign.qualification_items.all()} == {"Because."}


def test_own_items_may_come_as_a_table_and_without_answers(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    lines = [f"is {number} big,how large is {number},{number % 2},So." for number in range(4)]
    path.write_text("\n".join(["query,question,expected,why", *lines]))
    assert set(create(tmp_path, path).qualification_items.values_list("answer", flat=True)) == {""}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"expected": "2"}, "Line 3 of .*expected must be 0 or 1"),
        ({"expected": "yes"}, "Line 3 of .*expected must be 0 or 1"),
        ({"expected": ""}, "Line 3 of .*expected must be 0 or 1"),
        ({"expected": True}, "Line 3 of .*not a text but true or false"),
        ({"why": " \x00 "}, "Line 3 of .*the why is empty"),
        ({"query": "x" * 2001}, "Line 3 of .*2,001 characters"),
        ({"question": ["a"]}, "Line 3 of .*not a text but a list"),
        ({"query": "\ud800"}, "Line 3 of .*UTF-8"),
        (
            {"query": "How old is number 0?", "question": "what is the age of 0"},
            "Line 3 of .*it asks what line 1 asks",
        ),
    ],
)
def test_one_bad_item_refuses_the_file_by_its_line(
    tmp_path: Path, change: dict[str, object], fault: str
) -> None:
    rows = [item(0, 0), item(1, 1), {**item(2, 0), **change}, item(3, 1)]
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UserError, match=fault):
        create(tmp_path, path)
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "has no rows"),
        (b"\x00\x01\x02", "Line 1 of .*not JSON"),
        (b"[1]\n", "Line 1 of .*not an object"),
        (b"{" * 5000 + b"\n", "Line 1 of "),
        (b'{"query": "a"}\n', "Line 1 of .*expected must be 0 or 1"),
        (b"\xff\xfe\xff\n", "UTF-16"),
        (b'{"query": "\xe9"}\n', "Line 1 of .*UTF-8"),
    ],
)
def test_a_file_that_holds_no_items_is_refused(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=fault):
        create(tmp_path, path)


def test_a_file_of_too_many_items_is_refused_without_reading_it_to_the_end(tmp_path: Path) -> None:
    rows = [item(number, number % 2) for number in range(MOST_ROWS + 1)]
    path = write_rows(tmp_path / "own.jsonl", rows)
    with path.open("a") as file:
        file.write("no JSON at all\n")
    with pytest.raises(UserError, match=r"more than 10,000 items"):
        create(tmp_path, path)


def test_one_sided_items_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "own.jsonl", [item(number, 1) for number in range(9)])
    with pytest.raises(UserError, match=r"there are 0 with 0 and 9 with 1. Add some, or lower"):
        create(tmp_path, path)


def test_items_that_the_policy_does_not_ask_for_are_refused(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "own.jsonl", [item(0, 0), item(1, 1)])
    with pytest.raises(UserError, match="set qualification_items in it"):
        create(tmp_path, path, qualification_items=0)


def test_more_items_than_the_shipped_file_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="qualification_items"):
        create(tmp_path, qualification_items=18)


def test_the_command_takes_own_items(tmp_path: Path) -> None:
    own = write_rows(tmp_path / "own.jsonl", [item(number, number % 2) for number in range(2)])
    queries = write_rows(tmp_path / "queries.jsonl", [{"id": "a", "query": "how is bread made"}])
    policy = tmp_path / "policy.json"
    policy.write_text('{"qualification_items": 2}')
    files = {"queries": queries, "policy": policy, "qualification-test": own}
    options = [text for name, path in files.items() for text in (f"--{name}", str(path))]
    quorum("campaign", "create", "faq", *options)
    assert Campaign.objects.get().qualification_items.count() == 2


# Tries


def test_it_is_closed_before_the_publication_and_after_the_end(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=1, qualification_items=4)
    with pytest.raises(UserError, match="opens when its campaign is published"):
        check_open(stage.campaign)
    stage.publish()
    pause(stage.campaign)
    stage.campaign.refresh_from_db()
    check_open(stage.campaign)
    cancel(stage.campaign, stage.mturk.clock.now())
    stage.campaign.refresh_from_db()
    with pytest.raises(UserError, match="has ended"):
        check_open(stage.campaign)


def test_who_has_enough_right_passes_and_is_to_be_let_in(stage: Stage) -> None:
    result = take_test(stage.campaign, "AADA", right(stage.campaign, slips=1))
    assert result
    assert (result.correct, result.items, result.passed) == (3, 4, True)
    (message,) = stage.outbox("train")
    assert (message.worker, message.state) == (result.worker, "pending")


def test_who_has_not_is_not(stage: Stage) -> None:
    result = take_test(stage.campaign, "ABOB", right(stage.campaign, slips=2))
    assert result
    assert (result.correct, result.passed) == (2, False)
    assert stage.outbox("train") == []


def test_a_worker_has_three_tries_in_a_campaign(stage: Stage) -> None:
    for before, slips in enumerate((4, 3, 2)):
        sheet = right(stage.campaign, slips=slips, before=before)
        assert take_test(stage.campaign, "ABOB", sheet)
    assert take_test(stage.campaign, "ABOB", right(stage.campaign)) is None
    assert stage.outbox("train") == []
    assert take_test(stage.campaign, "AADA", right(stage.campaign))


def test_each_try_has_items_of_its_own_as_far_as_there_are_some(tmp_path: Path) -> None:
    rows = [item(number, number % 2) for number in range(11)]
    campaign = create(tmp_path, write_rows(tmp_path / "own.jsonl", rows))
    assert campaign.qualification_items.count() == 8
    asked = [items_of_try(campaign, before) for before in range(3)]
    assert all(Counter(one.expected for one in each) == {0: 2, 1: 2} for each in asked)
    assert not {one.query for one in asked[0]} & {one.query for one in asked[1]}
    assert asked[2] == asked[0]


def test_a_campaign_of_before_has_one_round_of_items_for_all_tries(stage: Stage) -> None:
    stage.campaign.qualification_items.filter(position__gte=4).delete()
    assert len(items_of_try(stage.campaign, 0)) == 4
    assert items_of_try(stage.campaign, 2) == items_of_try(stage.campaign, 0)


def test_what_has_been_explained_is_no_answer_to_the_next_try(stage: Stage) -> None:
    take_test(stage.campaign, "ABOB", right(stage.campaign, slips=4))
    with pytest.raises(OtherItems):
        take_test(stage.campaign, "ABOB", right(stage.campaign))
    assert tries_of(stage.campaign, "ABOB").count() == 1


def test_the_same_answers_again_are_the_same_try(stage: Stage) -> None:
    wrong = right(stage.campaign, slips=4)
    first = take_test(stage.campaign, "ABOB", wrong)
    assert take_test(stage.campaign, "ABOB", wrong) == first
    assert QualificationResult.objects.count() == 1


def test_who_has_passed_stays_so_whatever_they_send(stage: Stage) -> None:
    passed = take_test(stage.campaign, "AADA", right(stage.campaign))
    assert take_test(stage.campaign, "AADA", right(stage.campaign, slips=4)) == passed
    assert len(stage.outbox("train")) == QualificationResult.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_tabs_at_once_no_more_than_three_tries_come(stage: Stage) -> None:
    def one_try_after_the_other(slips: int) -> None:
        for before in range(3):
            with suppress(OtherItems):  # the other tabs are at another try
                take_test(stage.campaign, "ABOB", right(stage.campaign, slips=slips, before=before))

    together(*(lambda slips=slips: one_try_after_the_other(slips) for slips in (2, 3, 4)))
    assert 1 <= tries_of(stage.campaign, "ABOB").count() <= 3


@pytest.mark.django_db(transaction=True)
def test_who_passes_in_many_tabs_at_once_is_let_in_once(stage: Stage) -> None:
    answers = right(stage.campaign)
    found = together(*[lambda: take_test(stage.campaign, "AADA", answers)] * 6)
    assert len({result.pk for result in found if result}) == 1
    assert len(stage.outbox("train")) == 1


# At the crowd


@pytest.mark.wire
def test_without_the_qualification_a_worker_sees_the_hit_and_cannot_take_it(stage: Stage) -> None:
    hits = f"{stage.mturk.url}/worker/{stage.mturk.person('bob').id}/hits"
    crowd_id = stage.hit(1).crowd_id
    assert f'data-preview="{crowd_id}"' in httpx.get(hits, trust_env=False).text
    assert httpx.get(f"{hits}/{crowd_id}/preview", trust_env=False).status_code == 200
    assert stage.accept("bob", 1) is None


def test_after_passing_and_the_next_pass_the_worker_takes_hits(stage: Stage) -> None:
    stage.mturk.person("ada")
    take_test(stage.campaign, "AADA", right(stage.campaign, slips=1))
    assert stage.accept("ada", 1) is None
    stage.advance()
    assert held(stage.mturk, stage.campaign.qualified_id) == {"AADA": 75}
    assert stage.accept("ada", 1)


def test_the_qualification_says_where_to_take_the_test(stage: Stage) -> None:
    (row,) = stage.mturk.rows(
        "SELECT name, description FROM qualification_types WHERE qualification_type_id = ?",
        stage.campaign.qualified_id,
    )
    assert row[0].endswith("has passed the qualification test")
    assert "/qualification/" in row[1]


def test_a_campaign_without_a_qualification_test_asks_for_no_qualification(one_hit: Stage) -> None:
    assert one_hit.campaign.qualified_id == ""
    assert "qualification_test" not in progress(one_hit.campaign)
    (row,) = one_hit.mturk.rows("SELECT requirements FROM hit_types")
    assert all(each["ActionsGuarded"] != "Accept" for each in json.loads(row[0]))


def test_repacked_hits_ask_for_it_too(set_stage: SetStage) -> None:
    stage = set_stage(
        candidates_per_query=1,
        tie_mode="repack",
        qualification_items=2,
        qualification_pass_percent=50,
    )
    stage.publish()
    for name in ("ada", "bob"):
        stage.mturk.person(name)
        take_test(stage.campaign, f"A{name.upper()}", right(stage.campaign))
    stage.deliver()
    disagree(stage, 1, "ada", "bob")
    stage.advance()
    rows = stage.mturk.rows("SELECT requirements FROM hit_types")
    assert len(rows) == 2
    for (requirements,) in rows:
        wanted = {each["QualificationTypeId"]: each for each in json.loads(requirements)}
        mine = wanted[stage.campaign.qualified_id]
        assert (mine["Comparator"], mine["ActionsGuarded"]) == ("Exists", "Accept")


def test_a_worker_whom_the_crowd_does_not_know_is_a_blocker(stage: Stage) -> None:
    take_test(stage.campaign, "ANOBODY", right(stage.campaign))
    stage.deliver()
    (sentence,) = blockers(stage.campaign)
    assert sentence.startswith("train, once:")
    assert "ANOBODY" in sentence
    stage.mturk.person("nobody")
    retry_failed(stage.campaign)
    stage.deliver()
    assert blockers(stage.campaign) == []
    assert stage.accept("nobody", 1)


def test_a_paused_campaign_lets_people_in_all_the_same(stage: Stage) -> None:
    stage.mturk.person("ada")
    pause(stage.campaign)
    take_test(stage.campaign, "AADA", right(stage.campaign))
    stage.advance()
    assert held(stage.mturk, stage.campaign.qualified_id) == {"AADA": 100}


def test_what_a_cancelled_campaign_had_promised_is_sent_and_it_can_finish(stage: Stage) -> None:
    stage.mturk.person("ada")
    take_test(stage.campaign, "AADA", right(stage.campaign))
    cancel(stage.campaign, stage.mturk.clock.now())
    assert stage.advance().waiting == 0
    assert stage.outbox("train")[0].state == "done"


def test_who_is_excluded_does_not_come_back_by_the_test(stage: Stage) -> None:
    stage.mturk.person("eve")
    take_test(stage.campaign, "AEVE", right(stage.campaign))
    stage.deliver()
    eve = Worker.objects.get(worker_id="AEVE")
    Exclusion.objects.create(campaign=stage.campaign, worker=eve, failures=3, reviewed=3)
    stage.mturk.crowd.exclude("AEVE", exclusion_id=stage.campaign.exclusion_id)
    assert held(stage.mturk, stage.campaign.qualified_id) == {"AEVE": 100}
    assert stage.accept("eve", 1) is None


def test_the_status_tells_where_the_round_is_and_how_it_goes(stage: Stage) -> None:
    take_test(stage.campaign, "AADA", right(stage.campaign))
    for before, slips in enumerate((4, 3)):
        take_test(stage.campaign, "ABOB", right(stage.campaign, slips=slips, before=before))
    found = progress(stage.campaign)
    assert found["qualification_test"] == qualification_test_url(stage.campaign)
    assert (found["qualification_workers"], found["qualification_passed"]) == (2, 1)


# Let in by hand


def test_who_has_used_up_the_tries_can_be_let_in_manually(stage: Stage) -> None:
    stage.mturk.person("bob")
    for before, slips in enumerate((4, 3, 2)):
        take_test(stage.campaign, "ABOB", right(stage.campaign, slips=slips, before=before))
    quorum("campaign", "grant-qualification", "faq", "ABOB")
    assert held(stage.mturk, stage.campaign.qualified_id) == {"ABOB": 100}
    assert stage.accept("bob", 1)
    result = take_test(stage.campaign, "ABOB", right(stage.campaign, slips=4))
    assert result
    assert result.passed


def test_an_id_that_the_crowd_does_not_know_is_refused_and_leaves_nothing(stage: Stage) -> None:
    report = refused("campaign", "grant-qualification", "faq", "AWORKER0003")
    assert "AWORKER0003 did not get the qualification: MTurk refused" in report
    assert not stage.campaign.qualification_results.exists()
    assert blockers(stage.campaign) == []
    stage.mturk.person("worker0003")  # who signs in after all
    quorum("campaign", "grant-qualification", "faq", "AWORKER0003")
    assert held(stage.mturk, stage.campaign.qualified_id) == {"AWORKER0003": 100}


@pytest.mark.parametrize("worker", ["", "a", "A B", "A\x00B", "A" * 65, "<b>"])
def test_whom_no_crowd_could_know_is_not_let_in(stage: Stage, worker: str) -> None:
    with pytest.raises(UserError, match="is not a worker id"):
        grant_qualification(stage.campaign, worker)


def test_nobody_is_let_in_twice_or_past_an_exclusion(stage: Stage) -> None:
    take_test(stage.campaign, "AADA", right(stage.campaign))
    with pytest.raises(UserError, match="has passed already"):
        grant_qualification(stage.campaign, "AADA")
    ada = Worker.objects.get(worker_id="AADA")
    Exclusion.objects.create(campaign=stage.campaign, worker=ada, failures=3, reviewed=3)
    with pytest.raises(UserError, match="campaign restore faq AADA"):
        grant_qualification(stage.campaign, "AADA")


def test_a_campaign_without_a_qualification_test_lets_everybody_in_already(one_hit: Stage) -> None:
    with pytest.raises(UserError, match="has no qualification test"):
        grant_qualification(one_hit.campaign, "AADA")
