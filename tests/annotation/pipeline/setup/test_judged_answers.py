"""People judge whether answers are right: the task type beside the paper's own."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import orjson
import pytest
from django.core.management.base import CommandError
from django.test import Client
from django.utils import timezone

from annotation.crowd.factory import site_of
from annotation.crowd.hit_url import hit_url
from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.assignments import submit, take
from annotation.crowd.inhouse.models import Visit
from annotation.crowd.inhouse.visits import Person, arrive, finish, open_link
from annotation.crowd.port import Crowd
from annotation.crowd.simulated.browser import _item
from annotation.crowd.simulated.knowledge import learn_answers, read_gold
from annotation.models import Campaign, Control, ControlCandidate, Hit
from annotation.pipeline.advance import advance
from annotation.pipeline.controls.candidates import confirm, find_candidates
from annotation.pipeline.controls.controls import Texts
from annotation.pipeline.controls.import_controls import SHIPPED, import_controls
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.pack import pack_hits, positive_names
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.setup.create import create_campaign, policy_from, read_policy
from annotation.pipeline.setup.create_pilot import create_pilot
from annotation.protocol.policy.policy import Policy, PolicyError
from annotation.protocol.policy.tasks import ANSWER, TASKS
from core.errors import UserError
from exports.building.export import export
from exports.building.options import Options
from exports.verify.verify import verify
from retrieval.answering.answers_file import read_answers, write_answers
from retrieval.answering.known_answers import KnownQuestion
from retrieval.answering.scoring import Outcome
from retrieval.models import QaPair
from tests.annotation.crowd.prolific.desk import Desk
from tests.annotation.crowd.prolific.world import running
from tests.annotation.pipeline.whole.own_crowd import Team
from tests.support.command_line import quorum
from tests.support.pages import parse
from tests.worlds.account import Account
from tests.worlds.small_campaign import POLICY, QUERIES, Stage, sheet_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]
# Of three systems: the second gives the first's answer to two questions, the third one's own.
ANSWERS = {
    topic: [
        (f"how is {topic} made", f"About {topic}: answer 0.", {"full": True, "selector": agree}),
        (f"what is {topic} for", f"About {topic}: answer 5.", {"web": False}),
    ]
    if agree
    else [
        (f"how is {topic} made", f"About {topic}: answer 0.", {"full": True}),
        (f"what is {topic} for", f"About {topic}: answer 5.", {"selector": True, "web": True}),
    ]
    for topic, agree in zip(QUERIES, (True, True, False, False, False), strict=True)
}


def answers_file(folder: Path, label: int | None = None) -> Path:
    path = folder / "answers.jsonl"
    lines = [
        {"id": key, "query": text, "candidates": [_row(*one, label) for one in ANSWERS[key]]}
        for key, text in QUERIES.items()
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _row(
    question: str, answer: str, systems: Mapping[str, bool], label: int | None
) -> dict[str, object]:
    return {"question": question, "answer": answer, "label": label, "systems": systems}


def rules(**others: object) -> Policy:
    starting = {**POLICY, "candidates_per_query": 1, "task": "answer", **others}
    return policy_from({**starting, "control_pool_size": 6})


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    import_controls(SHIPPED, ANSWER)
    return answers_file(tmp_path)


def truth(query: str, rank: int) -> int:
    """The first answer is right but for one question, the second is right for another."""
    return int(rank == 1) if query != "violin" and query != "bread" else int(rank == 2)


def judged(team: Team, *names: str) -> Campaign:
    team.publish()
    for name in names or ("ada", "bob"):
        team.work(name, truth)
    team.advance()
    return team.campaign


def team_on(path: Path, **policy: object) -> Team:
    campaign = create_campaign(
        "right", policy=rules(crowd="inhouse", **policy), seed=7, queries=path
    )
    pack_hits(campaign)
    return Team(campaign)


# What it is


def test_the_papers_task_leaves_no_trace_in_a_policy() -> None:
    assert "task" not in Policy().to_dict()
    assert Policy.from_dict({"task": "equivalence"}).digest() == Policy().digest()
    assert rules().to_dict()["task"] == "answer"
    assert Policy.from_dict(rules().to_dict()) == rules()


def test_without_the_answer_there_is_nothing_to_judge() -> None:
    with pytest.raises(PolicyError, match="show_answer must be true for the task answer"):
        rules(show_answer=False)


def test_nobody_ranked_the_answers() -> None:
    with pytest.raises(PolicyError, match="rank_prior must be false for the task answer"):
        rules(aggregation="best", rank_prior=True)


def test_a_task_begins_with_words_of_its_own(tmp_path: Path) -> None:
    assert read_policy(None, task="answer").title == ANSWER.heading
    path = tmp_path / "policy.json"
    path.write_text('{"task": "answer"}')
    assert read_policy(path, crowd="inhouse").mark_differences is False
    with pytest.raises(UserError, match="says task 'answer', but --task says equivalence"):
        read_policy(path, task="equivalence")


def test_answers_of_a_file_are_the_candidates_at_once(answers: Path) -> None:
    campaign = create_campaign("right", policy=rules(), seed=7, queries=answers)
    assert campaign.triplets.count() == 10
    assert campaign.policy.candidates_per_query == 2
    assert "**Answer** that a computer proposes" in campaign.instructions.get().text


def test_labels_are_not_brought_by_the_way(answers: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="brings labels: write null"):
        create_campaign("right", policy=rules(), seed=7, queries=answers_file(tmp_path, 1))


def test_no_pilot_hides_what_is_judged(answers: Path) -> None:
    campaign = create_campaign("right", policy=rules(), seed=7, queries=answers)
    with pytest.raises(UserError, match="judge answers, so that none can be hidden"):
        create_pilot(campaign, "hidden", triplets=4, seed=0)


def test_a_sample_of_the_corpus_is_judged_pair_by_pair() -> None:
    campaign = create_campaign("sample", policy=rules(), seed=7, sample=12)
    pairs = campaign.triplets.values_list(
        "candidate__query__question_key", "candidate__pair__question_key"
    )
    assert len(pairs) == 12
    assert all(query == pair for query, pair in pairs)
    again = create_campaign("again", policy=rules(), seed=7, sample=12)
    drawn = set(again.triplets.values_list("candidate__pair", flat=True))
    assert drawn == set(campaign.triplets.values_list("candidate__pair", flat=True))
    with pytest.raises(UserError, match="holds only 36 with an answer"):
        create_campaign("large", policy=rules(), seed=7, sample=37)


# What people see


def test_the_page_shows_a_question_and_an_answer_alone(
    answers: Path, mturk: Account, client: Client
) -> None:
    campaign = create_campaign("right", policy=rules(), seed=7, queries=answers)
    pack_hits(campaign)
    set_budget(campaign, 1_000_000)
    stage = Stage(campaign, mturk)
    stage.publish()
    address = hit_url(stage.hit(1).key).partition("//")[2].partition("/")[2]
    page = parse(client.get(f"/{address}", {"assignmentId": "3A", "workerId": "AADA"}))
    assert page.xpath("string(//h1)") == "Are these answers right?"
    items = page.xpath("//fieldset[@data-item]")
    for item in items:
        assert item.xpath(".//dt/text()") == ["Question", "Answer"]
        assert item.find_class("question") == []
        assert _item(item, "here").judged == item.find_class("answer")[0].text_content()
    assert len(items) == campaign.policy.hit_size
    assert "quivalent" not in page.text_content()


# Through the crowds to labels, a release and figures


def test_turks_answers_make_labels(answers: Path, mturk: Account) -> None:
    campaign = create_campaign("right", policy=rules(), seed=7, queries=answers)
    pack_hits(campaign)
    set_budget(campaign, 1_000_000)
    stage = Stage(campaign, mturk)
    stage.publish()
    for number in range(1, campaign.hits.count() + 1):
        for name in ("ada", "bob"):
            stage.work(name, number, truth)
    stage.advance()
    assert stage.labels() == {
        (query, rank): truth(query, rank) for query in QUERIES for rank in (1, 2)
    }


def published(path: Path, crowd: Crowd, kind: str) -> Campaign:
    campaign = create_campaign("right", policy=rules(crowd=kind), seed=7, queries=path)
    pack_hits(campaign)
    set_budget(campaign, 1_000_000)
    publish(campaign, crowd)
    deliver(campaign, crowd)
    campaign.refresh_from_db()
    return campaign


def do_tasks(visit: Visit, now: datetime) -> None:
    """All of them; the first one's page shows questions and answers."""
    browser, seen = Client(), False
    browser.force_login(visit.member.user)
    while (taken := take(visit.member, now=now)) is not None:
        page = seen or parse(browser.get(f"/work/{taken.assignment_id}"))
        if not isinstance(page, bool):
            assert page.xpath("string(//h1)") == "Are these answers right?"
            labels = page.xpath("//fieldset[@data-item]//dt/text()")
            assert set(labels) == {"Question", "Answer"}
        hit = Hit.objects.get(key=taken.posted_hit.annotation)
        submit(visit.member, taken.assignment_id, sheet_of(hit, truth), now=now)
        seen = True
    assert seen


def check_released(campaign: Campaign, folder: Path) -> None:
    labels = campaign.triplets.values_list("candidate__query__key", "candidate__rank", "label")
    assert {(query, rank): label for query, rank, label in labels} == {
        (query, rank): truth(query, rank) for query in QUERIES for rank in (1, 2)
    }
    export(campaign, folder, options=Options(split="random"))
    assert verify(folder).differences == []


def test_a_panel_s_participants_judge_answers_up_to_a_release(
    answers: Path, tmp_path: Path
) -> None:
    crowd, now = InhouseCrowd(site_of("panel")), timezone.now()
    campaign = published(answers, crowd, "panel")
    link = open_link(campaign.hit_type_id, "sona", tasks=100, now=now)
    for name in ("ada", "bob"):
        visit = arrive(link, Person(name, name), now=now)
        do_tasks(visit, now)
        finish(visit, now=now)
    assert advance(campaign, crowd).finished
    check_released(campaign, tmp_path / "release")


def test_prolific_s_participants_judge_answers_up_to_a_release(
    answers: Path, tmp_path: Path
) -> None:
    with running(tmp_path / "prolific.sqlite3", balance_cents=10_000_000) as prolific:
        prolific.clock.now = timezone.now().timestamp()
        desk = Desk(prolific)
        campaign = published(answers, desk.crowd, "prolific")
        desk.tasks = campaign.hits.count()
        desk.open(campaign.hit_type_id)
        desk.tend()
        for name in ("ada", "bob"):
            visit = desk.come(name)
            do_tasks(visit, desk.now())
            desk.leave(name, visit)
        for _ in range(3):
            finished = advance(campaign, desk.crowd, clock=desk.now).finished
        assert finished
        ((charged,),) = prolific.rows("SELECT SUM(paid) FROM money")
        assert account_of(campaign).spent_cents == round(charged / 100)
        check_released(campaign, tmp_path / "release")


def test_the_release_says_what_was_judged_and_is_verified(answers: Path, tmp_path: Path) -> None:
    campaign = judged(team_on(answers))
    folder = tmp_path / "release"
    export(campaign, folder, options=Options(split="random"))
    assert verify(folder).differences == []
    facts = orjson.loads((folder / "campaign.json").read_bytes())
    assert facts["policy"]["task"] == "answer"
    card = " ".join((folder / "README.md").read_text().split())
    assert "if the answer is right for the query" in card
    assert "came in a file, each with the answers to be judged" in card
    assert "ask the same" not in card
    assert "same meaning" not in card
    croissant = (folder / "croissant.json").read_text()
    assert ANSWER.labels in croissant
    assert "duplicate" not in croissant


def test_a_release_of_an_unknown_task_is_no_release(answers: Path, tmp_path: Path) -> None:
    campaign = judged(team_on(answers))
    folder = tmp_path / "release"
    export(campaign, folder, options=Options(split="random"))
    path = folder / "campaign.json"
    path.write_bytes(path.read_bytes().replace(b'"task": "answer"', b'"task": "taste"'))
    path.write_bytes(path.read_bytes().replace(b'"task":"answer"', b'"task":"taste"'))
    assert any("task must be" in one for one in verify(folder).differences)


def figures(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    quorum("model", "evaluate-answers", *words, "--json")
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_systems_are_as_good_as_people_say(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged(team_on(answers))
    found = figures(capsys, str(answers), "--judge", "right")
    systems: Sequence[Mapping[str, object]] = found["systems"]  # type: ignore[assignment]
    assert [(one["system"], one["accuracy"]["value"]) for one in systems] == [  # type: ignore[index]
        ("full", 0.8),
        ("selector", 0.2),
        ("web", 0.2),
    ]
    assert (found["questions"], found["left_out"]) == (5, 0)
    full, selector, web = systems
    assert full["paper"] == {"quora": 58.0, "nq": 50.5, "triviaqa": 29.3}
    assert selector["difference"]["value"] == -0.6  # type: ignore[index]
    assert (web["answered"], web["words"]) == (0.6, "web")


def test_an_answer_without_a_label_leaves_its_question_out(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = judged(team_on(answers))
    tied = campaign.triplets.filter(candidate__query__key="bread")
    tied.update(status="unresolved", label=None, label_source=None)
    found = figures(capsys, str(answers), "--judge", "right")
    assert (found["questions"], found["left_out"], found["unjudged"]) == (4, 1, 2)


def test_a_corpus_is_as_right_as_people_say(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged(team_on(answers))
    found = figures(capsys, "--judge", "right")
    assert found["sources"] == [
        {
            "source": source,
            "pairs": 10,
            "right": 5,
            "correctness": found["sources"][0]["correctness"],
        }  # type: ignore[index]
        for source in ("faq", "all")
    ]
    quorum("model", "evaluate-answers", "--judge", "right")
    assert "50.0% [" in capsys.readouterr().out


def test_another_campaign_judges_no_answers(stage: Stage) -> None:
    with pytest.raises(CommandError, match="did not judge answers"):
        quorum("model", "evaluate-answers", "--judge", stage.campaign.name)


# Its controls


def test_the_pools_of_two_tasks_share_nothing(answers: Path) -> None:
    assert len(positive_names("answer")) == 80
    assert len(positive_names()) == 6
    control = Control.objects.filter(task="answer", campaign=None).first()
    assert control is not None
    assert control.query == control.question


def test_a_right_answer_that_all_agree_on_is_a_control_of_its_task(answers: Path) -> None:
    campaign = judged(team_on(answers, annotators=3), "ada", "bob", "cleo")
    before = len(positive_names("answer")), len(positive_names())
    find_candidates(campaign)
    candidate = ControlCandidate.objects.select_related("triplet__campaign").first()
    assert candidate is not None
    texts = Texts("How is rye made?", "How is rye made?", "Of rye.")
    confirm(candidate, texts, by="olga", now=campaign.created_at)
    assert (len(positive_names("answer")), len(positive_names())) == (before[0] + 1, before[1])


def test_simulated_workers_read_answers_too(answers: Path, tmp_path: Path) -> None:
    gold = read_gold([SHIPPED])
    learn_answers(gold, SHIPPED)
    assert gold.label("How many days are there in a week?", "Seven.") == 1
    path = tmp_path / "gold.jsonl"
    path.write_text('{"query": "Is it?", "answer": "No.", "label": 0}\n')
    assert read_gold([path]).label("is it", "no") == 0


def test_the_answers_of_systems_are_written_for_people(tmp_path: Path) -> None:
    pairs = list(QaPair.objects.order_by("pk")[:2])
    questions = [KnownQuestion("How is rye made?", ("Of rye",))]
    scored = {
        "full": [Outcome(right=False, answered=True, best=pairs[0])],
        "selector": [Outcome(right=False, answered=False, best=pairs[0])],
        "neural": [Outcome(right=False, answered=True, best=pairs[1])],
    }
    path = tmp_path / "out.jsonl"
    write_answers(path, questions, scored)
    [given] = read_answers(path)
    assert [dict(one.systems) for one in given.answers] == [
        {"full": True, "selector": False},
        {"neural": True},
    ]
    assert create_campaign("rye", policy=rules(), seed=7, queries=path).triplets.count() == 2
    scored = {"full": [Outcome(right=False, answered=False)]}
    with pytest.raises(UserError, match="No system finds a pair for 'How is rye made"):
        write_answers(path, questions, scored)


def test_every_task_says_all_that_people_read() -> None:
    for task in TASKS.values():
        assert all(value for name, value in vars(task).items() if isinstance(value, str | tuple)), (
            task.name
        )
