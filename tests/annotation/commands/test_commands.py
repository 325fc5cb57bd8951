"""`quorum campaign` and `quorum controls`, as users and scripts meet them."""

import json
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import OperationalError
from pytest_django import Settings

from annotation.analytics.campaign.progress import progress
from annotation.models import Campaign, Control
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.outbox.deliver import Delivery
from annotation.pipeline.setup.create import get_campaign
from annotation.simulation.run import Stage as Watch
from retrieval.corpus.corpora import create_corpus, named_corpus
from retrieval.models import QaPair
from tests.annotation.simulation.test_dry_run import made_up
from tests.conftest import StartMTurk
from tests.support.command_line import quorum, show_bars, verbs
from tests.worlds.account import Account
from tests.worlds.small_campaign import Stage, retrieved_campaign, write_rows

pytestmark = pytest.mark.django_db

STEPS = verbs("campaign")
WITHOUT_A_NAME = {"create", "import", "list"}
# What a step wants besides the campaign's name.
TEXTS = ["--query", "one", "--question", "two", "--answer", "three"]
MORE = {
    "budget": ["100"],
    "extend": ["--days", "7"],
    "exclude": ["AEVE"],
    "grant-qualification": ["AEVE"],
    "restore": ["AEVE"],
    "message": ["AEVE", "--text", "Thank you."],
    "approve": ["3ONE"],
    "reject": ["3ONE", "--reason", "By a script."],
    "bonus": ["3ONE", "0.50", "--reason", "Thank you."],
    "cancel-bonus": ["3ONE", "0.50", "--reason", "Thank you."],
    "open-panel": ["connect"],
    "plan": ["--error", "0.05"],
    "close-panel": ["0123"],
    "request-returns": ["0123"],
    "forget-participant": ["AEVE"],
    "give-role": ["ada", "viewer"],
    "second-crowd": ["inhouse"],
    "take-role": ["ada"],
    "replace-control": ["--control", "1", *TEXTS],
    "retire-control": ["--control", "1"],
    "confirm-control": ["--triplet", "1", *TEXTS],
    "dismiss-control": ["--triplet", "1"],
    "add-draft": ["positive", *TEXTS],
    "import-drafts": ["drafts.jsonl"],
    "confirm-draft": ["--draft", "1", *TEXTS[2:]],
    "dismiss-draft": ["--draft", "1"],
}

FEW_HITS = "Too few HITs to measure whether controls can be told apart: 8 are needed."


def run(*arguments: str) -> str:
    out = StringIO()
    quorum(*arguments, stdout=out)
    return out.getvalue()


def run_json(*arguments: str) -> dict[str, object]:
    """Exactly one line, and it is JSON."""
    printed = run(*arguments, "--json")
    assert printed.endswith("\n")
    assert printed.count("\n") == 1
    return dict(json.loads(printed))


def refused(*arguments: str) -> str:
    """The sentence; the exit status is 2 and nothing is printed."""
    out = StringIO()
    with pytest.raises(CommandError) as refusal:
        quorum(*arguments, stdout=out)
    assert refusal.value.returncode == 2
    assert out.getvalue() == ""
    sentence = str(refusal.value)
    assert "\n" not in sentence
    return sentence


def previewed(*arguments: str) -> str:
    """What would be done, one sentence a line; nothing is, and the exit status is 2."""
    out, err = StringIO(), StringIO()
    with redirect_stderr(err), pytest.raises(SystemExit) as end:
        quorum(*arguments, stdout=out)
    assert end.value.code == 2
    assert out.getvalue() == ""
    *preview, last = err.getvalue().splitlines()
    assert preview
    assert last == "Nothing was changed: add --yes to continue."
    return " ".join(preview)


@pytest.fixture
def queries(tmp_path: Path) -> str:
    return str(write_rows(tmp_path / "mine.jsonl", [{"query": "how is bread made"}]))


def test_every_step_prints_one_line_of_json(
    stage: Stage, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_json("campaign", "retrieve", "faq") == {
        "campaign": "faq",
        "queries": 5,
        "candidates": 25,
        "pairs_not_indexed": 0,
    }
    estimate = run_json("campaign", "estimate", "faq")
    assert (estimate["triplets"], estimate["hits"], estimate["cents_min"]) == (25, 5, 190)
    packed = run_json("campaign", "pack", "faq")
    counts = {"campaign": "faq", "triplets": 25, "hits": 5, "already": True}
    assert packed == counts | {"note": FEW_HITS}
    assert run_json("campaign", "publish", "faq") == {
        "campaign": "faq",
        "new_hits": 5,
        "left_out": 0,
        "held_back": 0,
        "sent": 5,
        "failed": 0,
        "stopped_by": None,
        "waiting": 0,
        "status": "active",
    }
    stage.work("ada", 1)
    collected = run_json("campaign", "collect", "faq")
    assert (collected["new"], collected["passed"], collected["finished"]) == (1, 1, False)
    assert run_json("campaign", "status", "faq") == progress(get_campaign("faq"))
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""


@pytest.mark.usefixtures("small_database")
def test_creating_says_what_was_held_out(queries: str) -> None:
    created = run_json("campaign", "create", "mine", "--queries", queries)
    assert str(created.pop("warning")).startswith("With 1 query, dev and test will be empty")
    assert created == {
        "campaign": "mine",
        "corpus": "all",
        "crowd": "mturk",
        "queries": 1,
        "duplicate_queries": 0,
        "seed": 0,
        "budget_cents": 0,
    }
    sampled = run_json(
        "campaign", "create", "sampled", "--sample", "4", "--seed", "9", "--budget", "12.5"
    )
    assert (sampled["queries"], sampled["seed"], sampled["budget_cents"]) == (4, 9, 1250)


@pytest.mark.usefixtures("small_database")
def test_a_campaign_is_created_in_the_corpus_that_is_named(queries: str) -> None:
    create_corpus("birds", [])
    create = "campaign", "create", "mine", "--queries", queries, "--corpus"
    assert run_json(*create, "birds")["corpus"] == "birds"
    assert get_campaign("mine").query_set.corpus == named_corpus("birds")
    assert "There is no corpus 'tides'; there are: all, birds." in refused(*create, "tides")


MADE_ELSEWHERE = {
    "query": "why",
    "candidates": [
        {"question": "why so", "answer": "because", "label": 1},
        {"question": "why not", "answer": "because", "label": None},
    ],
}


@pytest.mark.django_db
def test_importing_says_what_came_and_what_was_left_out(tmp_path: Path) -> None:
    path = tmp_path / "qrc.jsonl"
    path.write_text(json.dumps(MADE_ELSEWHERE) + "\n{\n")
    assert refused("campaign", "import", "made", str(path)) == (
        f"Nothing was imported, 1 line of {path} cannot be used: line 2 of {path}: the line is "
        "not JSON: Expecting property name enclosed in double quotes at 3; correct it, or leave "
        "it out by --skip-faulty."
    )
    assert run_json("campaign", "import", "made", str(path), "--skip-faulty", "--budget", "5") == {
        "campaign": "made",
        "corpus": "all",
        "queries": 1,
        "candidates": 2,
        "of_these_in_other_sources": None,
        "labelled": 1,
        "positive": 1,
        "without_a_label": 1,
        "lines_skipped": 1,
        "skipped": f"line 2 of {path}: the line is not JSON: Expecting property name enclosed in "
        "double quotes at 3",
    }
    assert account_of(get_campaign("made")).budget_cents == 500
    assert refused("campaign", "import", "other", str(path), "--corpus", "coffee") == (
        "There is no corpus 'coffee'; there are: all."
    )
    assert "came with its candidates" in refused("campaign", "retrieve", "made")


@pytest.mark.usefixtures("small_database")
def test_packing_says_how_many_hits(tmp_path: Path) -> None:
    retrieved_campaign(tmp_path)
    packed = run_json("campaign", "pack", "faq")
    counts = {"campaign": "faq", "triplets": 25, "hits": 5, "already": False}
    assert packed == counts | {"note": FEW_HITS}


def test_people_read_words_and_dollars(stage: Stage) -> None:
    assert "$1.90" in run("campaign", "estimate", "faq", "--quiet")
    stage.publish()
    shown = run("campaign", "status", "faq")
    assert "triplets" in shown
    assert "paid but discarded" in shown
    assert "$10,000.00" in shown
    assert "{" not in shown
    assert "\nstate" not in shown  # which is for programs: the status says it


def test_progress_goes_to_standard_error(
    small_database: None,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    retrieved_campaign(tmp_path)
    show_bars(monkeypatch)
    run("campaign", "pack", "faq")
    captured = capfd.readouterr()
    assert "Packing" in captured.err
    assert "5/5" in captured.err
    assert captured.out == ""


def test_a_stage_that_is_told_again_is_the_same_bar(
    stage: Stage, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def dry_run(*_: object, stage: Watch, **__: object) -> dict[str, Any]:
        for _ in range(4):
            stage("people judge", 4)(1)
        return made_up()

    show_bars(monkeypatch)
    monkeypatch.setattr("annotation.operations.campaign.dry_run.dry_run", dry_run)
    run("campaign", "dry-run", "faq")
    assert "People judge: 100%" in capfd.readouterr().err


@pytest.mark.parametrize("is_stopped", [False, True])
def test_figures_that_cannot_be_counted_fail_nothing_that_was_done(
    stage: Stage, is_stopped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Campaign) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr("annotation.commands.campaign_operations.take_after_a_pass", fail)
    if is_stopped:
        stopped = Delivery(0, 0, "MTurk is away.")
        monkeypatch.setattr(
            "annotation.operations.campaign.steps.deliver", lambda *_, **__: stopped
        )
        report = refused("campaign", "publish", "faq")
        assert "5 wait for the next `quorum campaign publish faq`: MTurk is away." in report
    else:
        assert run_json("campaign", "publish", "faq")["sent"] == 5


def test_the_comparison_of_several_says_which_it_is_at(
    stage: Stage, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.publish()
    show_bars(monkeypatch)
    run("campaign", "reconcile")
    assert "Comparing HITs of faq: " in capfd.readouterr().err


@pytest.mark.parametrize("step", sorted({*STEPS} - WITHOUT_A_NAME))
def test_an_unknown_campaign_is_refused(step: str) -> None:
    Campaign.objects.all().delete()
    sentence = refused("campaign", step, "faq", *MORE.get(step, []))
    assert sentence.startswith("There is no campaign 'faq'")


@pytest.mark.usefixtures("db")
def test_candidates_need_an_index(queries: str) -> None:
    run("campaign", "create", "faq", "--queries", queries)
    assert "There is no index yet: run `quorum index build`" in refused(
        "campaign", "retrieve", "faq"
    )


@pytest.mark.usefixtures("small_database")
def test_a_database_with_newer_pairs_is_refused_where_it_is_to_be_fresh(queries: str) -> None:
    run("campaign", "create", "faq", "--queries", queries)
    QaPair.objects.all()[0].delete()
    report = refused("campaign", "retrieve", "faq", "--fresh")
    assert "have changed since the index was made" in report
    assert not Campaign.objects.get().hits.exists()


@pytest.mark.usefixtures("small_database")
def test_a_changed_encoder_is_refused(queries: str, settings: Settings) -> None:
    run("campaign", "create", "faq", "--queries", queries)
    settings.ENCODER_MODEL = "another"
    assert "setting changed from" in refused("campaign", "retrieve", "faq")


def test_the_device_is_the_setting_s_where_none_is_named(
    stage: Stage, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = []

    def retrieve(*args: object, device: str, **options: object) -> int:
        devices.append(device)
        return 25

    monkeypatch.setattr("annotation.operations.campaign.steps.retrieve", retrieve)
    run("campaign", "retrieve", "faq")
    run("campaign", "retrieve", "faq", "--device", "cuda")
    assert devices == [settings.ENCODER_DEVICE, "cuda"]


@pytest.mark.usefixtures("small_database")
def test_a_small_pool_of_controls_is_refused(tmp_path: Path) -> None:
    retrieved_campaign(tmp_path)
    Control.objects.all().delete()
    assert "holds 0 positive controls, but 5 HITs need at least 5" in refused(
        "campaign", "pack", "faq"
    )


@pytest.mark.usefixtures("small_database")
def test_what_is_not_packed_cannot_be_published(tmp_path: Path, mturk: Account) -> None:
    retrieved_campaign(tmp_path)
    assert "run `quorum campaign pack faq` first" in refused("campaign", "publish", "faq")


def test_a_poor_account_is_refused(
    stage: Stage, start_mturk: StartMTurk, settings: Settings
) -> None:
    settings.MTURK_ENDPOINT = start_mturk(balance_cents=100).url
    assert "costs $1.90 in the first round" in refused("campaign", "publish", "faq")


def test_production_costs_money_and_must_be_meant(stage: Stage, settings: Settings) -> None:
    settings.MTURK_ENDPOINT = settings.MTURK_PRODUCTION
    for step in ("publish", "collect"):
        assert "add --live to continue" in refused("campaign", step, "faq")


def test_an_unreachable_crowd_is_refused_and_tried_again_later(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    stage.mturk.stop()
    unreachable = f"MTurk cannot be reached at {stage.mturk.url}"
    assert refused("campaign", "collect", "faq").startswith(unreachable)
    stage.campaign.outbox.update(state="pending")
    report = "0 calls were made, 5 wait for the next `quorum campaign publish faq`: "
    assert refused("campaign", "publish", "faq").startswith(report + unreachable)
    stage.mturk.start()
    assert run_json("campaign", "publish", "faq")["sent"] == 5
    assert run_json("campaign", "collect", "faq")["new"] == 1
    assert stage.mturk.count("hits") == 5


@pytest.mark.usefixtures("small_database")
def test_a_bad_policy_is_refused_with_all_its_faults(tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text('{"anotators": 2, "hit_size": 0}')
    sentence = refused("campaign", "create", "faq", "--sample", "2", "--policy", str(policy))
    assert "did you mean annotators?" in sentence
    assert "hit_size must be" in sentence
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["campaign", "create", "faq"], "One of --sample, --queries is missing"),
        (
            ["campaign", "create", "faq", "--sample", "2", "--queries", "q.txt"],
            "--sample and --queries exclude each other",
        ),
        (["campaign", "create", "faq", "--sample", "two"], "not a valid int"),
        (["campaign", "extend", "faq"], "--days"),
        (["campaign", "bonus", "faq", "3ONE", "0.50"], "--reason"),
    ],
)
def test_a_wrong_command_line_is_explained(arguments: Sequence[str], expected: str) -> None:
    with pytest.raises(CommandError, match=expected):
        quorum(*arguments)


@pytest.mark.parametrize(
    "arguments", [["campaign", step] for step in STEPS] + [["controls", "import"]]
)
def test_every_step_has_help(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    quorum(*arguments, "--help")
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: quorum ")
    assert "--json" in shown


def test_the_shipped_controls_are_imported_once(db: None) -> None:
    first = run_json("controls", "import")
    assert first["added"] == first["pool"] == first["read"]
    assert int(str(first["pool"])) >= 60
    assert run_json("controls", "import") == first | {"added": 0}


def test_a_file_that_is_not_there_is_refused(db: None, tmp_path: Path) -> None:
    assert "nothing.jsonl" in refused("controls", "import", str(tmp_path / "nothing.jsonl"))
