import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from annotation.models import Campaign, Instructions
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.setup.create import create_campaign, get_campaign, read_policy
from annotation.protocol.policy.crowds import INHOUSE, MTURK, Fee
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from retrieval.models import Query, QuerySet
from tests.worlds.small_campaign import PAIRS, packed_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def nothing_stays(small_database: None) -> Iterator[None]:
    """The database holds pairs, and what is refused leaves no other trace."""
    yield
    counts = [model.objects.count() for model in (Campaign, Instructions, QuerySet, Query)]
    assert counts == [0, 0, 0, 0]


def create(name: str = "faq", **arguments: Any) -> Campaign:
    options: dict[str, Any] = {"policy": Policy(), "seed": 3, **arguments}
    return create_campaign(name, **options)


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.usefixtures("small_database")
def test_queries_are_sampled_from_the_database() -> None:
    campaign = create(sample=4)
    texts = set(campaign.query_set.queries.values_list("text", flat=True))
    assert len(texts) == 4
    assert texts < {question for question, _ in PAIRS}
    assert (campaign.query_set.name, campaign.query_set.seed, campaign.seed) == ("faq", 3, 3)


def test_queries_may_come_from_a_file(db: None, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("how do I bake bread\nHow do I tune a piano?\nHow do I bake bread?\n")
    campaign = create(queries=path)
    texts = campaign.query_set.queries.values_list("text", flat=True)
    assert list(texts) == ["how do I bake bread", "How do I tune a piano?"]
    assert campaign.query_set.duplicates == 1


@pytest.mark.usefixtures("small_database")
def test_the_policy_and_the_wording_in_force_are_stored(tmp_path: Path) -> None:
    rules = Policy(reward_cents=40, train=0.8, dev=0.1, test=0.1)
    campaign = create(sample=2, policy=rules, instructions=write(tmp_path, "# Rules\n"))
    stored = get_campaign("faq")
    assert stored.policy == rules
    assert [row.text for row in stored.instructions.all()] == ["# Rules\n"]
    assert campaign == stored


@pytest.mark.usefixtures("small_database")
def test_a_name_is_given_once() -> None:
    create(sample=2)
    with pytest.raises(UserError, match="There is a campaign 'faq' already"):
        create(sample=3)
    assert Query.objects.count() == 2


@pytest.mark.usefixtures("nothing_stays")
@pytest.mark.parametrize("name", ["", "two words", "../faq", "f" * 61, "fäq", "faq\n", "x\udcff"])
def test_a_name_is_made_of_letters_digits_and_hyphens(name: str) -> None:
    with pytest.raises(UserError, match="letters, digits, hyphens"):
        create(name, sample=2)


@pytest.mark.usefixtures("nothing_stays")
@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1])
def test_a_seed_that_cannot_be_stored_is_refused(seed: int) -> None:
    with pytest.raises(UserError, match="seed"):
        create(seed=seed, sample=2)


@pytest.mark.usefixtures("nothing_stays")
def test_it_must_be_said_which_queries() -> None:
    with pytest.raises(UserError, match="--sample N"):
        create()


@pytest.mark.usefixtures("nothing_stays")
def test_no_more_queries_are_sampled_than_there_are() -> None:
    with pytest.raises(UserError, match="37 queries were asked for"):
        create(sample=37)


@pytest.mark.usefixtures("nothing_stays")
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "are empty"),
        (b" \n\t\n", "are empty"),
        (b"Mark \xe9quivalent questions.", "are not UTF-8"),
    ],
)
def test_instructions_that_tell_nothing_are_refused(
    tmp_path: Path, content: bytes, fault: str
) -> None:
    with pytest.raises(UserError, match=fault):
        create(sample=2, instructions=write(tmp_path, content))


@pytest.mark.usefixtures("nothing_stays")
def test_unreadable_instructions_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.md", tmp_path):
        with pytest.raises(UserError, match="cannot be read"):
            create(sample=2, instructions=path)


def test_the_policy_is_the_paper_s_where_nothing_else_is_said(tmp_path: Path) -> None:
    assert read_policy(None) == Policy()
    assert read_policy(write(tmp_path, '{"reward_cents": 20}')) == Policy(reward_cents=20)


def test_an_in_house_crowd_is_asked_for_nothing_that_is_mturk_s(tmp_path: Path) -> None:
    policy = read_policy(None, crowd="inhouse")
    assert policy == Policy.from_dict(INHOUSE.defaults())
    assert (policy.crowd, policy.reward_cents, policy.masters) == ("inhouse", 0, False)
    assert read_policy(write(tmp_path, '{"crowd": "inhouse"}')) == policy
    assert read_policy(None, crowd="mturk") == Policy()


def test_prolific_s_fee_is_the_account_s_when_the_campaign_is_made(
    tmp_path: Path, settings: Settings
) -> None:
    settings.PROLIFIC_FEE_PERMILLE, settings.PROLIFIC_VAT_PERMILLE = 333, 200
    policy = read_policy(None, crowd="prolific")
    assert policy.fee == Fee(333, vat_permille=200)
    settings.PROLIFIC_FEE_PERMILLE, settings.PROLIFIC_VAT_PERMILLE = 428, 0
    assert Policy.from_dict(policy.to_dict()).fee == Fee(333, vat_permille=200)
    path = write(tmp_path, '{"crowd": "prolific", "fee_permille": 400}')
    assert read_policy(path).fee == Fee(400)
    assert read_policy(None, crowd="mturk").fee == MTURK.fee


@pytest.mark.usefixtures("small_database")
def test_a_campaign_counts_in_the_site_s_currency_from_then_on(
    tmp_path: Path, settings: Settings
) -> None:
    settings.CURRENCY = "GBP"
    policy = read_policy(None, crowd="prolific")
    assert (policy.currency, policy.minimum) == ("GBP", (600, 10))
    assert Policy.from_dict(policy.to_dict()).currency == "GBP"
    assert create(sample=2, policy=policy).policy.currency == "GBP"
    path = write(tmp_path, '{"currency": "USD"}')
    with pytest.raises(UserError, match="currency must be GBP, as QUORUM_CURRENCY says"):
        read_policy(path)
    settings.CURRENCY = "EUR"
    with pytest.raises(UserError, match='currency must be "USD" or "GBP" for Prolific'):
        read_policy(None, crowd="prolific")
    assert read_policy(None, crowd="panel").minimum == (0, 0)


def test_a_policy_file_changes_what_suits_the_crowd(tmp_path: Path) -> None:
    path = write(tmp_path, '{"reward_cents": 12, "annotators": 3}')
    policy = read_policy(path, crowd="inhouse")
    assert policy == Policy.from_dict({**INHOUSE.defaults(), "reward_cents": 12, "annotators": 3})
    assert read_policy(path, crowd="mturk") == Policy(reward_cents=12, annotators=3)


def test_the_file_and_the_option_may_say_the_same_crowd_but_not_two(tmp_path: Path) -> None:
    path = write(tmp_path, '{"crowd": "mturk"}')
    assert read_policy(path, crowd="mturk") == Policy()
    with pytest.raises(UserError, match=r"says crowd 'mturk', but --crowd says inhouse: leave out"):
        read_policy(path, crowd="inhouse")


def test_all_faults_of_a_policy_are_named_at_once(tmp_path: Path) -> None:
    faulty = {"hit_sise": 7, "annotators": "two", "max_votes": 1000, "masters": 1}
    with pytest.raises(UserError) as refusal:
        read_policy(write(tmp_path, json.dumps(faulty)))
    text = str(refusal.value)
    assert "did you mean hit_size?" in text
    assert all(name in text for name in faulty)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[1, 2]", "one JSON object"),
        (b"7", "one JSON object"),
        (b'{"title": "\xff"}', "not JSON in UTF-8"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_policy_file_holds_a_json_object(tmp_path: Path, content: bytes, fault: str) -> None:
    with pytest.raises(UserError, match=fault):
        read_policy(write(tmp_path, content))


def test_a_policy_file_must_be_readable(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(UserError, match="cannot be read"):
            read_policy(path)


def test_an_unknown_campaign_is_refused_with_the_names_of_those_there_are(db: None) -> None:
    with pytest.raises(UserError, match="create one with `quorum campaign create`"):
        get_campaign("faq")


@pytest.mark.parametrize("name", ["x\udcff", "x\x00", "x" * 1000])
def test_a_name_that_no_campaign_can_have_is_an_unknown_one(db: None, name: str) -> None:
    with pytest.raises(UserError, match="There is no campaign 'x"):
        get_campaign(name)


@pytest.mark.usefixtures("small_database")
def test_the_names_there_are_help_after_a_slip_of_the_pen() -> None:
    create("first", sample=2)
    create("second", sample=2)
    with pytest.raises(UserError, match=r"no campaign 'thrid'; there are: first, second\."):
        get_campaign("thrid")


@pytest.mark.usefixtures("small_database")
def test_a_later_campaign_holds_out_other_queries(tmp_path: Path) -> None:
    pack_hits(packed_campaign(tmp_path))
    create("later", sample=31)
    keys = list(Query.objects.values_list("question_key", flat=True))
    assert len(set(keys)) == len(keys) == 36
