"""Labels of experts from a file: matched by the texts, all or none, and never a vote."""

import gzip
import json
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Campaign, ExpertLabel, Triplet
from annotation.pipeline.gold import import_gold as step
from annotation.pipeline.gold.import_gold import Imported, import_gold
from core.command import Error
from core.errors import UserError
from tests.annotation.support.hits import make_campaign, make_triplet
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db

SKY = ("Why is the sky blue?", "Why is it blue up there?", "Light is scattered.")
SUNSET = ("Why is the sky blue?", "Why are sunsets red?", "Light is scattered.")
EGG = ("boil an egg", "How long do I boil an egg?", "Seven minutes.")
EGG_LONGER = ("boil an egg", "How long do I boil an egg?", "Nine minutes.")
EVERYTHING = (SKY, SUNSET, EGG, EGG_LONGER)


@pytest.fixture
def campaign() -> Campaign:
    campaign = make_campaign()
    for row in EVERYTHING:
        make_triplet(campaign, row)
    return campaign


def rows(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(of: tuple[str, str, str], label: object, **more: object) -> dict[str, object]:
    return {"query": of[0], "question": of[1], "label": label, **more}


def stored() -> dict[tuple[str, str, str], int]:
    """(question, answer, expert) -> label."""
    labels = ExpertLabel.objects.select_related("triplet__candidate__pair")
    return {
        (each.triplet.candidate.pair.question, each.triplet.candidate.pair.answer, each.expert): (
            each.label
        )
        for each in labels
    }


def refusal(path: Path, campaign: Campaign, **how: bool) -> str:
    with pytest.raises(UserError) as refused:
        import_gold(path, campaign, **how)
    return str(refused.value)


def test_a_row_labels_the_triplet_of_its_texts_in_whatever_case(
    campaign: Campaign, tmp_path: Path
) -> None:
    changed = {"query": "WHY is the  sky blue", "question": "why are sunsets red ?!", "label": 0}
    found = import_gold(rows(tmp_path / "gold.jsonl", changed), campaign, expert="ada")
    assert found == Imported(rows=1, labels_new=1)
    assert stored() == {(SUNSET[1], SUNSET[2], "ada"): 0}
    label = ExpertLabel.objects.get()
    assert (label.source, label.note) == ("import", "")


def test_nothing_but_expert_labels_is_written(campaign: Campaign, tmp_path: Path) -> None:
    before = list(Triplet.objects.order_by("pk").values())
    import_gold(rows(tmp_path / "gold.jsonl", row(SKY, 1)), campaign)
    assert list(Triplet.objects.order_by("pk").values()) == before


def test_a_row_without_an_answer_labels_all_pairs_of_its_question(
    campaign: Campaign, tmp_path: Path
) -> None:
    found = import_gold(rows(tmp_path / "gold.jsonl", row(EGG, 1)), campaign)
    assert (found.rows, found.labels_new) == (1, 2)
    assert stored() == {(EGG[1], EGG[2], "gold"): 1, (EGG[1], EGG_LONGER[2], "gold"): 1}


def test_an_answer_tells_pairs_of_the_same_question_apart(
    campaign: Campaign, tmp_path: Path
) -> None:
    path = rows(
        tmp_path / "gold.jsonl",
        row(EGG, 1, answer="SEVEN minutes"),
        row(EGG_LONGER, 0, answer="Nine minutes."),
        row(SKY, 1, answer="An answer that no pair has."),
    )
    found = import_gold(path, campaign)
    assert stored() == {(EGG[1], EGG[2], "gold"): 1, (EGG[1], EGG_LONGER[2], "gold"): 0}
    assert (found.rows_without_triplet, found.first_lines_without) == (1, [3])


def test_each_row_may_name_its_expert_and_a_note(campaign: Campaign, tmp_path: Path) -> None:
    path = rows(
        tmp_path / "gold.jsonl",
        row(SKY, 1, expert="ada", note="plain"),
        row(SKY, 0, expert="bob"),
        row(SUNSET, 0, expert=""),
    )
    import_gold(path, campaign, expert="eve")
    assert stored() == {
        (SKY[1], SKY[2], "ada"): 1,
        (SKY[1], SKY[2], "bob"): 0,
        (SUNSET[1], SUNSET[2], "eve"): 0,
    }
    assert ExpertLabel.objects.get(expert="ada").note == "plain"


def test_rows_that_match_nothing_are_counted_and_the_first_are_named(
    campaign: Campaign, tmp_path: Path
) -> None:
    strange = [row(("q", f"question {number}", ""), 1) for number in range(8)]
    # The query and the question are each known, but not together.
    crossed = row((SKY[0], EGG[1], ""), 0)
    found = import_gold(rows(tmp_path / "gold.jsonl", row(SKY, 1), *strange, crossed), campaign)
    assert (found.rows, found.labels_new, found.rows_without_triplet) == (10, 1, 9)
    assert found.first_lines_without == [2, 3, 4, 5, 6]


def test_another_campaigns_triplets_of_the_same_pairs_are_left_alone(
    campaign: Campaign, tmp_path: Path
) -> None:
    other = make_triplet(make_campaign("other"), SKY)
    import_gold(rows(tmp_path / "gold.jsonl", row(SKY, 1)), campaign)
    assert not other.expert_labels.exists()
    assert ExpertLabel.objects.get().triplet.campaign == campaign


def test_a_file_that_matches_nothing_is_refused(campaign: Campaign, tmp_path: Path) -> None:
    path = rows(tmp_path / "gold.jsonl", row(("a", "b", ""), 1))
    assert refusal(path, campaign) == (
        f"None of the 1 rows of {path} is about one of the 4 triplets of campaign faq: compare "
        "its queries and questions with the campaign's; nothing was imported."
    )


def test_meanings_label_every_triplet_both_of_whose_texts_are_known(
    campaign: Campaign, tmp_path: Path
) -> None:
    path = rows(
        tmp_path / "meanings.jsonl",
        {"question": "why is the sky BLUE", "meaning": "sky"},
        {"question": SKY[1], "meaning": "sky"},
        {"question": SUNSET[1], "meaning": "sunset"},
        {"question": EGG[1], "meaning": "egg"},  # whose query is not known
        {"question": "Why is the sky blue", "meaning": "sky"},  # once more
    )
    found = import_gold(path, campaign)
    assert stored() == {(SKY[1], SKY[2], "gold"): 1, (SUNSET[1], SUNSET[2], "gold"): 0}
    assert found == Imported(rows=5, labels_new=2, rows_without_triplet=1, first_lines_without=[4])


@pytest.mark.parametrize("name", ["gold.csv", "gold.tsv", "gold.csv.gz"])
def test_tables_are_read_with_a_byte_order_mark_and_packed(
    campaign: Campaign, tmp_path: Path, name: str
) -> None:
    mark = "\t" if ".tsv" in name else ","
    lines = [["Query", "question", "LABEL"], [SKY[0], SKY[1], " 1"], [SUNSET[0], SUNSET[1], "0"]]
    text = "".join(mark.join(line) + "\r\n" for line in lines).encode("utf-8-sig")
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert import_gold(path, campaign).labels_new == 2
    assert stored() == {(SKY[1], SKY[2], "gold"): 1, (SUNSET[1], SUNSET[2], "gold"): 0}


def test_the_same_file_again_changes_nothing(campaign: Campaign, tmp_path: Path) -> None:
    path = rows(tmp_path / "gold.jsonl", row(SKY, 1, note="plain"), row(EGG, 0), row(EGG, 0))
    import_gold(path, campaign)
    before = list(ExpertLabel.objects.order_by("pk").values())
    assert import_gold(path, campaign) == Imported(rows=3, labels_unchanged=3)
    assert import_gold(path, campaign, replace=True) == Imported(rows=3, labels_unchanged=3)
    assert list(ExpertLabel.objects.order_by("pk").values()) == before


def test_another_label_of_the_same_expert_is_refused_until_it_is_asked_for(
    campaign: Campaign, tmp_path: Path
) -> None:
    import_gold(rows(tmp_path / "old.jsonl", row(SKY, 1), row(SUNSET, 0)), campaign)
    path = rows(tmp_path / "new.jsonl", row(SKY, 1), row(SUNSET, 1), row(EGG, 1))
    assert refusal(path, campaign) == (
        f"1 labels or notes of {path} are not those that the same expert gave before (first in "
        "lines 2): ask for them to be replaced (--replace), or leave them out; nothing was "
        "imported."
    )
    assert ExpertLabel.objects.count() == 2
    found = import_gold(path, campaign, replace=True)
    assert (found.labels_new, found.labels_unchanged, found.labels_changed) == (2, 1, 1)
    assert stored()[SUNSET[1], SUNSET[2], "gold"] == 1


def test_a_file_over_what_was_given_on_the_page_leaves_the_blind_label_in_the_figures(
    campaign: Campaign, tmp_path: Path
) -> None:
    """The page has shown its expert the votes; who only ever imported corrects a slip."""
    sky, sunset, *_ = campaign.triplets.order_by("pk")
    for triplet, source in ((sky, "sample"), (sunset, "import")):
        ExpertLabel.objects.create(triplet=triplet, expert="ada", label=1, source=source)
    for label in (0, 1, 0):
        path = rows(tmp_path / "ada.jsonl", row(SKY, label), row(SUNSET, label))
        import_gold(path, campaign, expert="ada", replace=True)
    labels = ExpertLabel.objects.order_by("pk").values_list("label", "blind_label")
    assert list(labels) == [(0, 1), (0, None)]


def test_another_expert_may_say_the_opposite(campaign: Campaign, tmp_path: Path) -> None:
    path = rows(tmp_path / "gold.jsonl", row(SKY, 1))
    import_gold(path, campaign, expert="ada")
    path = rows(tmp_path / "gold.jsonl", row(SKY, 0))
    assert import_gold(path, campaign, expert="bob").labels_new == 1


def test_a_file_without_notes_takes_none_away(campaign: Campaign, tmp_path: Path) -> None:
    import_gold(rows(tmp_path / "old.jsonl", row(SKY, 1, note="plain")), campaign)
    path = rows(tmp_path / "new.jsonl", row(SKY, 1))
    assert import_gold(path, campaign).labels_unchanged == 1
    import_gold(rows(tmp_path / "new.jsonl", row(SKY, 0)), campaign, replace=True)
    label = ExpertLabel.objects.get()
    assert (label.label, label.note) == (0, "plain")


@pytest.mark.parametrize("known", [True, False])
def test_a_contradiction_inside_the_file_is_refused_with_both_lines(
    campaign: Campaign, tmp_path: Path, known: bool
) -> None:
    texts = SKY if known else ("a", "b", "")
    path = rows(tmp_path / "gold.jsonl", row(SUNSET, 0), row(texts, 1), row(EGG, 1), row(texts, 0))
    assert refusal(path, campaign) == (
        f"Line 4 of {path}: it says 0 of what line 2 says 1 of, by the same expert; "
        "nothing was imported."
    )
    assert not ExpertLabel.objects.exists()


def test_a_row_for_all_answers_and_one_for_one_of_them_can_contradict(
    campaign: Campaign, tmp_path: Path
) -> None:
    path = rows(tmp_path / "gold.jsonl", row(EGG, 1), row(EGG_LONGER, 0, answer=EGG_LONGER[2]))
    assert "Line 2 of" in refusal(path, campaign)
    assert "what line 1 says 1 of" in refusal(path, campaign)


def test_two_meanings_of_a_question_are_refused_with_both_lines(
    campaign: Campaign, tmp_path: Path
) -> None:
    path = rows(
        tmp_path / "gold.jsonl",
        {"question": SKY[1], "meaning": "sky"},
        {"question": SKY[0], "meaning": "sky"},
        {"question": SKY[1].upper(), "meaning": "air"},
    )
    expected = f"Line 3 of {path}: the question has another meaning in line 1; "
    assert refusal(path, campaign) == expected + "nothing was imported."


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"label": 2}, "the label must be 1 or 0, not '2'"),
        ({"label": True}, "the label must be 1 or 0, not 'True'"),
        ({"label": "yes"}, "the label must be 1 or 0, not 'yes'"),
        ({"label": None}, "the label must be 1 or 0, not 'None'"),
        ({"label": [1]}, "the label must be 1 or 0"),
        ({"label": 0.5}, "the label must be 1 or 0"),
        ({"query": ""}, "the query is empty"),
        ({"query": "\x00\x07"}, "the query is empty"),
        ({"question": 7}, "the question is not a text but a number"),
        ({"question": "x" * 10_001}, "the question has 10,001 characters, more than 10,000"),
        ({"expert": "x" * 151}, "the expert has 151 characters, more than 150"),
        ({"note": "x" * 2_001}, "the note has 2,001 characters, more than 2,000"),
        ({"note": "\ud800"}, "not valid UTF-8"),
        ({"answer": 1.5}, "the answer is not a text"),
    ],
)
def test_a_bad_row_is_refused_with_its_line_and_nothing_is_written(
    campaign: Campaign, tmp_path: Path, fields: dict[str, object], fault: str
) -> None:
    path = rows(tmp_path / "gold.jsonl", row(SKY, 1), row(SUNSET, 0) | fields)
    said = refusal(path, campaign)
    assert said.startswith(f"Line 2 of {path}: ")
    assert fault in said
    assert said.endswith("; nothing was imported.")
    assert not ExpertLabel.objects.exists()


@pytest.mark.parametrize(
    ("second", "fault"),
    [
        ({"question": "a", "meaning": "m"}, "it does not hold query, question and label, or"),
        ({"query": "a", "question": "b"}, "it does not hold query, question and label, or"),
    ],
)
def test_a_row_of_another_kind_than_the_first_is_refused(
    campaign: Campaign, tmp_path: Path, second: dict[str, str], fault: str
) -> None:
    path = rows(tmp_path / "gold.jsonl", row(SKY, 1), second)
    assert f"Line 2 of {path}: {fault}" in refusal(path, campaign)


@pytest.mark.parametrize(
    ("second", "fault"),
    [
        ({"question": "a", "label": "1"}, "it does not hold query, question and label, or"),
        ({"question": "a", "meaning": ""}, "the meaning is empty"),
        ({"question": "a", "meaning": "m", "expert": "ada"}, "meanings are one expert's"),
    ],
)
def test_a_bad_row_among_meanings_is_refused_with_its_line(
    campaign: Campaign, tmp_path: Path, second: dict[str, str], fault: str
) -> None:
    path = rows(tmp_path / "gold.jsonl", {"question": SKY[0], "meaning": "sky"}, second)
    assert f"Line 2 of {path}: {fault}" in refusal(path, campaign)


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("gold.jsonl", b"", "has no rows"),
        ("gold.csv", b"query,question,label\n", "has no rows"),
        ("gold.jsonl", b"<!doctype html>\n<p>Sign in</p>\n", "is a web page"),
        ("gold.csv", b"<!doctype html>\n<p>Sign in</p>\n", "is a web page"),
        ("gold.jsonl", '{"query": "a"}\n'.encode("utf-16"), "is in UTF-16"),
        ("gold.jsonl", b'{"query": "\xe9", "question": "b", "label": 1}\n', "not valid UTF-8"),
        ("gold.csv", b'query,question,label\na,"' + b"x" * 200_000 + b'",1\n', "Line 2 of"),
        ("gold.jsonl.gz", b"no gzip", "is not compressed by gzip: remove .gz"),
        ("gold.xlsx", b"PK", "has an unknown type"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(
    campaign: Campaign, tmp_path: Path, name: str, content: bytes, fault: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    said = refusal(path, campaign)
    assert fault in said
    assert "\n" not in said
    assert not ExpertLabel.objects.exists()


def test_control_characters_and_markup_are_kept_as_texts(
    campaign: Campaign, tmp_path: Path
) -> None:
    note = "<script>alert(1)</script>\x00\x1b[31m"
    import_gold(rows(tmp_path / "gold.jsonl", row(SKY, 1, note=note, expert="a\x00da")), campaign)
    label = ExpertLabel.objects.get()
    assert (label.note, label.expert) == ("<script>alert(1)</script>[31m", "ada")


def test_an_expert_needs_a_name(campaign: Campaign, tmp_path: Path) -> None:
    path = rows(tmp_path / "gold.jsonl", row(SKY, 1))
    for name in ("", " \x00 ", "x" * 151):
        with pytest.raises(UserError, match="The expert needs a name of 1 to 150 characters"):
            import_gold(path, campaign, expert=name)


def test_a_bad_last_row_takes_back_batches_that_were_written(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "BATCH", 2)
    path = rows(tmp_path / "gold.jsonl", row(SKY, 1), row(SUNSET, 0), row(EGG, 1), row(EGG, 7))
    assert f"Line 4 of {path}" in refusal(path, campaign)
    assert not ExpertLabel.objects.exists()


def test_batches_of_any_size_store_the_same(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = rows(tmp_path / "gold.jsonl", row(SKY, 1), row(EGG, 1), row(SUNSET, 0), row(EGG, 1))
    monkeypatch.setattr(step, "BATCH", 1)
    assert import_gold(path, campaign) == Imported(rows=4, labels_new=4)
    assert len(stored()) == 4


def test_the_number_of_queries_does_not_grow_with_the_rows(
    campaign: Campaign, tmp_path: Path
) -> None:
    for number in range(200):
        make_triplet(campaign, (f"query {number % 20}", f"question {number}", "Yes."))
    few = [row((f"query {n % 20}", f"question {n}", ""), n % 2) for n in range(3)]
    many = [row((f"query {n % 20}", f"question {n}", ""), n % 2) for n in range(200)]
    counts = []
    for name, given in (("few", few), ("many", many)):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            import_gold(rows(tmp_path / f"{name}.jsonl", *given), campaign, expert=name)
        counts.append(len([query for query in queries if "INSERT" not in query["sql"]]))
    assert counts[0] == counts[1]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the trigger is in SQLite's words")
def test_an_expert_who_labels_at_the_same_time_is_told_to_try_again(
    campaign: Campaign, tmp_path: Path
) -> None:
    """What PostgreSQL does where the same label came in between: here a trigger refuses."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TRIGGER came_first BEFORE INSERT ON annotation_expertlabel"
            " BEGIN SELECT RAISE(ABORT, 'came first'); END"
        )
    path = rows(tmp_path / "gold.jsonl", row(SKY, 1))
    assert "at the same time: run the import again" in refusal(path, campaign)


def test_the_command_says_what_it_did(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = rows(tmp_path / "gold.jsonl", row(SKY, 1), row(("a", "b", ""), 1))
    quorum("experts", "import", str(path), "--campaign", "faq", "--expert", "ada")
    assert capsys.readouterr().out.splitlines() == [
        "campaign              faq",
        "rows                  2",
        "labels new            1",
        "labels unchanged      0",
        "labels changed        0",
        "rows without triplet  1",
        "first lines without   2",
    ]
    quorum("experts", "import", str(path), "--campaign", "faq", "--expert", "ada", "--json")
    assert json.loads(capsys.readouterr().out)["labels_unchanged"] == 1
    with pytest.raises(Error, match="no campaign"):
        quorum("experts", "import", str(path), "--campaign", "nope")
