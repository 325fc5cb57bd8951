"""`campaign second-crowd`: whose queries are named in a file, or drawn."""

import json
from pathlib import Path

import pytest

from annotation.models import AuditEntry, Campaign
from core.errors import UserError
from tests.annotation.commands.test_commands import run_json
from tests.worlds.small_campaign import QUERIES, packed_campaign

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]
SPLIT = "".join(json.dumps({"id": key, "query": QUERIES[key]}) + "\n" for key in ("bread", "piano"))
FILES = {
    "ids.txt": "bread\npiano\n",
    "ids.csv": "id,why\nbread,hard\npiano,\n",
    "test.jsonl": SPLIT,
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_names_the_queries_and_so_do_words(tmp_path: Path, name: str) -> None:
    packed_campaign(tmp_path)
    path = tmp_path / name
    path.write_text(FILES[name])
    made = run_json(
        "campaign", "second-crowd", "faq", "inhouse", "--id", str(path), "--id", "candle", "--yes"
    )
    assert made == {
        "campaign": "faq",
        "second": "faq-inhouse",
        "ids": ["bread", "piano", "candle"],
        "queries": 3,
        "queries_left": 2,
        "triplets": 15,
        "hits_deleted": 5,
        "reward_cents": 0,
        "budget_cents": 0,
    }
    second = Campaign.objects.get(name="faq-inhouse")
    assert set(second.query_set.queries.values_list("key", flat=True)) == {
        "bread",
        "candle",
        "piano",
    }
    assert AuditEntry.objects.get(verb="second-crowd").details["second"] == "faq-inhouse"
    assert run_json("campaign", "status", "faq")["released_with"] == ["faq", "faq-inhouse"]


def test_a_line_that_names_no_query_is_refused(tmp_path: Path) -> None:
    packed_campaign(tmp_path)
    path = tmp_path / "ids.csv"
    path.write_text("id\nbread\n\n" + "x" * 2000 + "\n")
    with pytest.raises(UserError, match=r"^Nothing was changed, line 4 of .* names no query: the"):
        run_json("campaign", "second-crowd", "faq", "inhouse", "--id", str(path), "--yes")
    assert Campaign.objects.count() == 1


def test_it_asks_first_and_says_what_follows(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    packed_campaign(tmp_path)
    with pytest.raises(SystemExit):
        run_json("campaign", "second-crowd", "faq", "prolific", "--queries", "2")
    assert capfd.readouterr().err.splitlines()[:3] == [
        "2 queries of faq move to the new campaign faq-prolific, whose crowd is Prolific; 3 stay.",
        "faq-prolific has 10 triplets to judge, in 2 HITs. Its first round costs $0.84, from a "
        "budget of its own.",
        "5 packed HITs are deleted. Pack and publish both campaigns next. Their labels are "
        "released together, as releases of faq. You cannot move the queries back.",
    ]
    assert Campaign.objects.count() == 1
