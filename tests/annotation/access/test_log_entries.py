"""Whatever people do to money, votes and people stands in the log, by whichever door they come."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError
from pytest_django import Settings

from annotation.crowd.inhouse.models import Invitation, Member
from annotation.models import AuditEntry, Campaign, Hit
from annotation.operations.registry import LONG_OPERATIONS, OPERATIONS
from annotation.pipeline.setup.create import create_campaign
from annotation.protocol.policy.policy import Policy
from config.commands import NOUNS
from exports.models import Build
from retrieval.models import IndexVersion, QaPair
from tests.annotation.commands.test_commands import MADE_ELSEWHERE, run
from tests.annotation.support.hits import make_campaign
from tests.annotation.support.parts import at, logged
from tests.annotation.web.stage import make_member, staff
from tests.conftest import SetStage
from tests.exports.support.campaigns import make_campaign as judged_campaign
from tests.support.command_line import verbs as verbs_of
from tests.worlds.small_campaign import POLICY, Stage, retrieved_campaign, write_rows

pytestmark = pytest.mark.django_db

# Nothing of money, votes or people is other than before.
LOOKS = {
    "list",
    "estimate",
    "status",
    "pool-depth-report",
    "pilot-report",
    "aggregation-report",
    "shared-errors",
    "audit-plan",
    "plan",
}
# Steps of their own; `tests.annotation.operations.test_faces` asks for the rows of operations.
STEPS = {"create", "import", "import-drafts", "instructions"}
LOGGED_NOUNS = {
    "campaign", "controls", "corpus", "crowd", "experts", "import", "index", "model", "release",
    "turk",
}  # fmt: skip
LOOKING_NOUNS = {"ask", "backup", "doctor", "experiment", "material", "search"}
EMPTY_SITE = {"restore"}  # whose log comes with it
SMALL_INDEX = ("--form", "QQ", "--kind", "exact", "--precision", "fp32", "--device", "cpu")


def verbs() -> list[str]:
    return [verb for _, verb, _ in logged()]


def last() -> AuditEntry:
    return AuditEntry.objects.latest("pk")


def test_every_noun_and_every_verb_of_a_campaign_is_known_to_this_test() -> None:
    assert set(NOUNS) == LOGGED_NOUNS | LOOKING_NOUNS | EMPTY_SITE
    assert set(verbs_of("campaign")) == LOOKS | STEPS | set(OPERATIONS) | set(LONG_OPERATIONS)


@pytest.mark.usefixtures("small_database")
def test_creating_and_packing_are_logged_with_what_came_of_them(tmp_path: Path) -> None:
    run("campaign", "create", "sampled", "--sample", "4", "--seed", "9", "--budget", "12.5")
    row = last()
    assert (row.verb, row.campaign) == ("create", Campaign.objects.get(name="sampled"))
    assert row.details["budget_cents"] == 1250
    retrieved_campaign(tmp_path)
    for _ in range(2):  # packed once
        run("campaign", "pack", "faq")
    assert verbs() == ["create", "pack"]
    assert last().details["hits"] == 5


def test_what_is_refused_leaves_no_row(stage: Stage, tmp_path: Path) -> None:
    for words in (
        ["campaign", "create", "faq", "--sample", "4"],
        ["campaign", "budget", "faq", "a lot"],
        ["campaign", "expire", "faq", "--yes"],
        ["campaign", "import", "made", str(tmp_path / "none.jsonl")],
        ["campaign", "instructions", "faq", str(tmp_path / "none.md")],
        ["controls", "import", str(tmp_path / "none.jsonl")],
        ["experts", "import", str(tmp_path / "none.jsonl"), "--campaign", "faq"],
        ["crowd", "invite", "--days", "9999"],
        ["release", "build", "nobody"],
    ):
        with pytest.raises(CommandError):
            run(*words)
    assert logged() == []


@pytest.mark.usefixtures("db")
def test_what_is_done_to_the_database_is_logged_by_the_names_that_pages_use(
    tmp_path: Path,
) -> None:
    rows = [{"question": f"What is {name}?", "answer": f"It is {name}."} for name in "abc"]
    path = write_rows(tmp_path / "pairs.jsonl", rows)
    run("corpus", "import", str(path), "--source", "faq", "--license", "CC0")
    row = last()
    assert (row.verb, row.subject, row.campaign, row.via) == (
        "import pairs", "faq", None, "command",
    )  # fmt: skip
    assert row.details["files"] == ["pairs.jsonl"]
    assert (row.details["license"], row.details["added"]) == ("CC0", 3)
    key = QaPair.objects.order_by("pk")[0].pair_key
    run("corpus", "withdraw", "--pair", key)
    row = last()
    assert (row.verb, row.details["pairs"], row.details["withdrawn"]) == (
        "withdraw-pairs",
        [key],
        1,
    )
    with pytest.raises(CommandError):
        run(
            "corpus",
            "import",
            str(write_rows(tmp_path / "none.jsonl", [{"question": "?"}])),
            "--source",
            "x",
        )
    assert AuditEntry.objects.count() == 2


def test_an_import_whose_row_cannot_be_written_adds_nothing(
    db: None, tmp_path: Path, settings: Settings
) -> None:
    settings.AUDIT_LOG = "tests.annotation.access.test_log_entries.no_room"
    path = write_rows(tmp_path / "pairs.jsonl", [{"question": "What is a?", "answer": "It is a."}])
    with pytest.raises(RuntimeError, match="no room"):
        run("corpus", "import", str(path), "--source", "faq")
    assert not QaPair.objects.exists()


def no_room(verb: str, **_: object) -> None:
    raise RuntimeError("no room")


@pytest.mark.slow
@pytest.mark.usefixtures("small_database")
def test_candidates_found_by_command_are_logged_once() -> None:
    run("index", "build", *SMALL_INDEX)
    campaign = create_campaign("faq", policy=Policy.from_dict(POLICY), seed=7, sample=3)
    for _ in range(2):  # found once
        run("campaign", "retrieve", "faq", "--device", "cpu")
    assert verbs() == ["build index", "retrieve"]
    assert last().campaign == campaign
    found = {"queries": 3, "candidates": 15, "pairs_not_indexed": 0}
    assert last().details == {"retrievers": ["dense"], **found}


def test_candidates_that_were_there_are_not_logged(tmp_path: Path, small_database: None) -> None:
    retrieved_campaign(tmp_path)
    run("campaign", "retrieve", "faq")
    assert logged() == []


@pytest.mark.slow
@pytest.mark.usefixtures("small_database")
def test_an_index_is_logged_though_its_words_fail(settings: Settings) -> None:
    settings.INDEX_DIR.mkdir(exist_ok=True)
    (settings.INDEX_DIR / "lexical").write_text("a file stands in the way")
    with pytest.raises(CommandError, match="lexical cannot be used"):
        run("index", "build", *SMALL_INDEX, "--lexical")
    assert IndexVersion.objects.count() == 2
    assert verbs() == ["build index"]
    assert (last().subject, last().details["kind"], last().details["words_asked_for"]) == (
        "the database", "exact", True,
    )  # fmt: skip


@pytest.mark.usefixtures("small_database")
def test_whatever_is_pruned_is_logged_though_it_held_no_byte(settings: Settings) -> None:
    stray = settings.INDEX_DIR / "versions" / "of-another-database"
    stray.mkdir()
    run("index", "prune", "--dry-run")
    assert logged() == []
    for _ in range(2):  # the second finds nothing
        run("index", "prune")
    assert not stray.exists()
    assert verbs() == ["prune vectors"]
    assert last().details == {"folders": [stray.name], "files": 0, "bytes": 0}


def test_importing_a_dataset_is_logged(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "made.jsonl", [MADE_ELSEWHERE])  # type: ignore[list-item]
    run("campaign", "import", "made", str(path), "--budget", "5")
    row = last()
    assert (row.verb, str(row.campaign)) == ("import", "made")
    assert (row.details["candidates"], row.details["budget_cents"]) == (2, 500)


def test_another_wording_is_logged_by_either_door(tmp_path: Path) -> None:
    campaign = make_campaign()
    path = tmp_path / "rules.md"
    path.write_text("Another wording.")
    run("campaign", "instructions", "faq", str(path))
    run("campaign", "instructions", "faq")  # printed
    ada = staff("ada", "add_instructions")
    form = {"text": "A third one.", "based_on": "2", "save": "1"}
    assert at(ada).post("/campaigns/faq/instructions", form).status_code == 200
    at(ada).post("/campaigns/faq/instructions", form)  # nothing new
    rows = list(AuditEntry.objects.order_by("pk"))
    assert [(row.verb, row.via, row.campaign) for row in rows] == [
        ("instructions", "command", campaign),
        ("instructions", "page", campaign),
    ]
    assert [row.details["version"] for row in rows] == [2, 3]
    authors = campaign.instructions.order_by("version").values_list("author", flat=True)
    assert list(authors) == ["", "", "ada"]  # empty: by command


@pytest.mark.usefixtures("db")
def test_a_control_pool_is_logged(tmp_path: Path) -> None:
    rows = [{"query": "how many a", "question": "the number of a", "answer": "Ten."}]
    path = write_rows(tmp_path / "pool.jsonl", rows)
    run("controls", "import", str(path))
    assert last().verb == "import-controls"
    assert last().details == {"file": "pool.jsonl", "read": 1, "added": 1, "pool": 1}
    bad = write_rows(tmp_path / "bad.jsonl", [{"query": "how many a"}])
    with pytest.raises(CommandError, match=str(bad)):
        run("controls", "import", str(bad))
    assert verbs() == ["import-controls"]


def test_a_history_is_logged_file_by_file(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.jsonl", [{"WorkerId": "AEVE", "Reason": "A script"}, {"a": "b"}])
    write_rows(tmp_path / "b.jsonl", [{"a": "b"}])
    with pytest.raises(CommandError, match="1 of 2 files cannot be used"):
        run("import", "turk", str(tmp_path))
    assert verbs() == ["import-history"]
    of_file = {"file": "a.jsonl", "rows": 2, "new": {"worker": 1}, "changed": {}, "faulty": 1}
    assert last().details == of_file


def test_gold_is_logged_with_its_file(stage: Stage, tmp_path: Path) -> None:
    triplets = stage.campaign.triplets.select_related("candidate__query", "candidate__pair")
    triplet = triplets.order_by("pk")[0]
    texts = {
        "query": triplet.candidate.query.text,
        "question": triplet.candidate.pair.question,
        "label": "1",
    }
    path = write_rows(tmp_path / "gold.jsonl", [texts])
    run("experts", "import", str(path), "--campaign", "faq")
    row = last()
    assert (row.verb, row.campaign) == ("import-gold", stage.campaign)
    assert (row.details["file"], row.details["labels_new"]) == ("gold.jsonl", 1)


def test_a_reconciliation_is_logged_for_each_campaign(stage: Stage) -> None:
    stage.publish()
    run("campaign", "reconcile", "faq")
    assert (last().verb, last().campaign) == ("reconcile", stage.campaign)
    assert last().details == {"full": False, "all_gone": False}


def test_builds_of_releases_are_logged_by_command(tmp_path: Path) -> None:
    campaign = judged_campaign()
    run("release", "build", "demo", "--partial")
    assert (last().verb, last().campaign) == ("build-release", campaign)
    Build.objects.all().delete()
    run("release", "build", "demo", "--out", str(tmp_path / "out"), "--partial", "--quiet")
    assert verbs() == ["build-release"] * 2
    assert last().details == Build.objects.get().options


def test_people_of_the_team_are_logged(client: object) -> None:
    dora = staff("dora", "add_invitation", "change_member")
    doras = at(dora)
    doras.post("/team", {"note": "friends", "days": "7", "uses": "2"})
    invitation = Invitation.objects.get()
    doras.post(f"/team/invitations/{invitation.pk}/revoke")
    ada = make_member("ada")
    for active in ("0", "1"):
        doras.post(f"/team/members/{ada.pk}", {"active": active})
    run("crowd", "invite", "--note", "the library")
    operations = ["invite", "revoke-invitation", "deactivate", "activate", "invite"]
    whom = ["friends", "friends", "ada", "ada", "the library"]
    assert [(verb, subject) for _, verb, subject in logged()] == list(
        zip(operations, whom, strict=True)
    )
    assert AuditEntry.objects.filter(via="command").count() == 1


def test_who_joins_stands_in_the_log_once(client: object) -> None:
    link = run("crowd", "invite", "--json").split('"link": "')[1].split('"')[0]
    eve = User.objects.create_user("eve")
    for _ in range(2):
        at(eve).post(f"/join/{link.rpartition('/')[2]}")
    assert verbs() == ["invite", "join"]
    assert last().details == {"worker": Member.objects.get().worker_id}


def test_a_new_password_stands_in_the_log_without_itself() -> None:
    ada = User.objects.create_user("ada", password="a long sentence of hers")
    words = {"new_password1": "violet canyon 7", "new_password2": "violet canyon 7"}
    at(ada).post("/password", words | {"old_password": "wrong"})
    assert logged() == []
    at(ada).post("/password", words | {"old_password": "a long sentence of hers"})
    assert logged() == [("ada", "change-password", "ada")]
    assert "canyon" not in str(last().details)


def test_an_operation_at_the_adjudication_page_and_its_row_are_one(
    set_stage: SetStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the row cannot be written, nothing is done."""
    stage = set_stage()
    ada = staff("ada", "add_instructions")
    ada.user_permissions.add(Permission.objects.get(codename="run_campaign"))

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr("annotation.models.AuditEntry.objects.create", refuse)
    client = at(User.objects.get(pk=ada.pk))
    for address, form in (
        ("/campaigns/faq/instructions", {"text": "New.", "based_on": "1", "save": "1"}),
        ("/admin/campaigns/faq/operations/pause", {"agreed": "yes"}),
    ):
        with pytest.raises(RuntimeError, match="no room"):
            client.post(address, form)
    stage.campaign.refresh_from_db()
    assert stage.campaign.state == Campaign.State.ACTIVE
    assert stage.campaign.instructions.count() == 1
    assert Hit.objects.exists()
