"""Controls that are replaced or retired are in no HIT to come, and stay in those that hold them."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Campaign, Control, HitItem
from annotation.monitoring.doctor import check_controls
from annotation.pipeline.controls.controls import Texts, add_positive, replace, retire
from annotation.pipeline.controls.import_controls import import_controls
from annotation.pipeline.publishing.pack import pack_hits, positive_names
from annotation.protocol.packing.pack import HitSpec, pack
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from tests.conftest import SetStage
from tests.support.threads import together
from tests.worlds.small_campaign import CONTROLS, Stage, retrieved_campaign, write_rows

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]

NEW = Texts("how old is ada", "the age of ada", "Ten.")


def positives() -> list[Control]:
    return list(Control.objects.filter(campaign=None).order_by("pk"))


def shown(campaign: Campaign) -> set[Control]:
    items = HitItem.objects.filter(hit__campaign=campaign, control__isnull=False)
    return {item.control for item in items.select_related("control") if item.control}


def new_campaign(folder: Path, **policy: object) -> Campaign:
    return retrieved_campaign(folder, **policy)


@pytest.mark.usefixtures("small_database")
def test_a_retired_control_is_packed_into_no_hit(tmp_path: Path) -> None:
    campaign = new_campaign(tmp_path, control_pool_size=5)
    gone = positives()[0]
    retire(gone, now=timezone.now())
    pack_hits(campaign)
    assert gone not in shown(campaign)
    assert len(positive_names()) == 5


@pytest.mark.usefixtures("small_database")
def test_a_control_that_retires_while_hits_are_packed_stays_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it had retired just after; a version that replaced it meanwhile comes in its place."""
    campaign = new_campaign(tmp_path)
    gone, old = positives()[:2]

    def slowly(*given: Any, **more: Any) -> list[HitSpec]:
        specs = pack(*given, **more)
        retire(gone, now=timezone.now())
        replace(old, Texts(old.query, old.question, "Twelve."), now=timezone.now())
        return specs

    monkeypatch.setattr("annotation.pipeline.publishing.pack.pack", slowly)
    assert pack_hits(campaign).hits == 5
    keys = [item.key for item in shown(campaign) if item.kind == "positive"]
    assert len(keys) == 5
    assert not old.items.exists()


@pytest.mark.usefixtures("small_database")
def test_the_pool_is_too_small_when_too_many_are_retired(tmp_path: Path) -> None:
    campaign = new_campaign(tmp_path)
    for control in positives()[:2]:
        retire(control, now=timezone.now())
    with pytest.raises(UserError, match="holds 4 positive controls, but 5 HITs need at least 5"):
        pack_hits(campaign)


@pytest.mark.usefixtures("small_database")
def test_the_new_words_of_a_control_are_packed_and_the_old_ones_are_not(tmp_path: Path) -> None:
    campaign = new_campaign(tmp_path, control_pool_size=5)
    old = positives()[0]
    new = replace(old, NEW, now=timezone.now())
    for control in positives()[1:-1][:1]:
        retire(control, now=timezone.now())
    pack_hits(campaign)
    assert new in shown(campaign)
    assert old not in shown(campaign)


def test_hits_that_hold_a_control_keep_it_and_are_judged_by_it(stage: Stage) -> None:
    stage.publish()
    before = shown(stage.campaign)
    texts = {control.pk: control.query for control in before}
    for control in before:
        if control.campaign is None:
            replace(control, Texts(f"{control.query} x", control.question, "x"), now=timezone.now())
    assert {control.pk: control.query for control in shown(stage.campaign)} == texts
    stage.work("ada", 1)
    stage.work("eve", 1, slips=1)
    stage.advance()
    passed = dict(stage.hit(1).assignments.values_list("worker__worker_id", "passed"))
    assert sorted(passed.values()) == [False, True]


def test_a_retired_negative_is_in_no_repacked_hit(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=2, tie_mode="repack")
    stage.publish()
    spare = Control.objects.filter(campaign=stage.campaign, items=None).order_by("key")
    gone, new = spare[:2]
    retire(gone, now=timezone.now())
    changed = replace(new, Texts("how is ada", "why is bob", "Well."), now=timezone.now())
    for name in ("ada", "bob"):
        stage.work(name, 1, int(name == "ada"))
        stage.work(name, 2, int(name == "ada"))
    for _ in range(3):
        stage.advance()
    repacked = set(
        HitItem.objects.filter(hit__campaign=stage.campaign, hit__repack=True)
        .exclude(control=None)
        .values_list("control", flat=True)
    )
    assert repacked
    assert not repacked & {gone.pk, new.pk}
    assert (changed.key, changed.campaign) == (f"{new.key}.1", stage.campaign)


def test_as_many_stay_as_a_hit_may_need(stage: Stage) -> None:
    """A triplet repacked alone is filled up with two more of each kind: three of each."""
    *many, _, _, last = positives()
    for control in many:
        retire(control, now=timezone.now())
    with pytest.raises(UserError, match="may need 3 positive controls"):
        retire(last, now=timezone.now())
    last.refresh_from_db()
    assert last.retired_at is None
    Campaign.objects.update(state="cancelled")
    retire(last, now=timezone.now())


def test_a_campaign_keeps_enough_negatives(stage: Stage) -> None:
    *many, _, _, last = Control.objects.filter(campaign=stage.campaign)
    for control in many:
        retire(control, now=timezone.now())
    with pytest.raises(UserError, match="may need 3 negative controls"):
        retire(last, now=timezone.now())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["positive", "negative"])
def test_two_who_retire_the_last_extra_ones_at_once_leave_enough(stage: Stage, kind: str) -> None:
    """Three have to stay, and four are left."""
    *many, first, _, _, second = Control.objects.filter(kind=kind).order_by("pk")
    for control in many:
        retire(control, now=timezone.now())

    def refusal(control: Control) -> str:
        try:
            retire(control, now=timezone.now())
        except UserError as error:
            return str(error)
        return ""

    report = together(partial(refusal, first), partial(refusal, second))
    assert sorted(bool(one) for one in report) == [False, True]
    assert "may need 3" in max(report)
    assert Control.objects.filter(kind=kind, retired_at=None).count() == 3


@pytest.mark.usefixtures("small_database")
def test_what_is_retired_cannot_be_retired_or_replaced_again() -> None:
    control = positives()[0]
    retire(control, now=timezone.now())
    for act in (
        lambda: retire(control, now=timezone.now()),
        lambda: replace(control, NEW, now=timezone.now()),
    ):
        with pytest.raises(UserError, match="retired already"):
            act()
    assert Control.objects.filter(query=NEW.query).count() == 0


@pytest.mark.usefixtures("small_database")
def test_the_answer_alone_can_be_changed() -> None:
    old = positives()[0]
    new = replace(old, Texts(old.query, old.question, "Twelve."), now=timezone.now())
    assert new.key == old.key
    assert list(Control.objects.filter(key=old.key, retired_at=None)) == [new]


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        (Texts("", "the age of ada", "Ten."), "the query is empty"),
        (Texts("how old is ada", " \x00 ", "Ten."), "the question is empty"),
        (Texts("how old is ada", "the age of ada", ""), "the answer is empty"),
        (Texts("How old is ada?", "how old is ada", "Ten."), "the same text"),
        (Texts("x" * 2001, "the age of ada", "Ten."), "more than 2,000 characters"),
    ],
)
def test_texts_that_are_no_control_are_refused(texts: Texts, fault: str) -> None:
    with pytest.raises(UserError, match=fault):
        add_positive(texts)
    assert not Control.objects.exists()


@pytest.mark.usefixtures("small_database")
def test_the_same_control_is_not_added_twice_but_may_come_back_manually(tmp_path: Path) -> None:
    control = add_positive(NEW)
    with pytest.raises(UserError, match="holds a control of this query and question already"):
        add_positive(Texts(NEW.query, NEW.question, "Eleven."))
    retire(control, now=timezone.now())
    columns = ("query", "question", "answer")
    rows = [dict(zip(columns, NEW, strict=True))]
    found = import_controls(write_rows(tmp_path / "again.jsonl", rows))
    assert (found.added, found.pool) == (0, len(CONTROLS))
    assert add_positive(NEW).pk != control.pk


@pytest.mark.django_db(transaction=True)
def test_of_two_who_add_the_same_control_at_once_one_is_told() -> None:
    def report(answer: str) -> str:
        try:
            return add_positive(NEW._replace(answer=answer)).answer
        except UserError as error:
            return str(error)

    known = "The pool holds a control of this query and question already."
    answers = "Ten.", "Eleven.", "Twelve.", "Thirteen."
    found = together(*(partial(report, answer) for answer in answers))
    (control,) = Control.objects.all()
    assert sorted(found) == sorted([control.answer, known, known, known])


@pytest.mark.django_db(transaction=True)
def test_of_two_whose_new_words_are_the_same_one_keeps_the_control_as_it_was() -> None:
    import_controls()
    first, second = positives()[:2]

    def report(control: Control) -> str:
        try:
            return replace(control, NEW, now=timezone.now()).query
        except UserError as error:
            return str(error)

    known = "The pool holds a control of this query and question already."
    assert {*together(partial(report, first), partial(report, second))} == {NEW.query, known}
    assert Control.objects.filter(pk__in=[first.pk, second.pk], retired_at=None).count() == 1
    assert Control.objects.filter(query=NEW.query, retired_at=None).count() == 1


@pytest.mark.usefixtures("small_database")
def test_nothing_is_replaced_by_itself() -> None:
    old = positives()[0]
    with pytest.raises(UserError, match="Nothing is changed"):
        replace(old, Texts(old.query, old.question, old.answer), now=timezone.now())


def test_the_doctor_counts_what_is_in_use() -> None:
    import_controls()
    Control.objects.update(retired_at=timezone.now())
    check = check_controls()
    assert not check.ok
    assert f"0 positive controls, {Policy().control_pool_size} wanted" in check.message
