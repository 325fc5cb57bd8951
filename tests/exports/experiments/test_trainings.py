"""Trainings, scores and experiments as jobs, by their pages and the API, with tiny models."""

import os
import uuid
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings as django_settings
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

import exports.experiments.tasks  # noqa: F401  # registers the work
from annotation.jobs.handlers import HANDLERS
from annotation.models import AuditEntry, Campaign
from exports.experiments import training_requests
from exports.experiments.training_requests import (
    LONGEST_SUBJECT,
    WantedTraining,
    experiments,
    recipe_file,
    recipes,
)
from exports.models import Release
from retrieval.jobs.queue import JobLost, run
from retrieval.models import Job, TrainedModel
from tests.annotation.api.people import Program
from tests.annotation.support.hits import make_campaign
from tests.annotation.web.stage import signed_in
from tests.exports.support.stored_release import stored_release
from tests.retrieval.training import tiny
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db
LIST = "/admin/database/trainings"
SMALL: dict[str, Any] = {
    "kind": "selector", "form": "QQ", "learning_rate": 1e-3, "batch_size": 16, "max_length": 24,
    "epochs": 1, "seeds": [1],
}  # fmt: skip


@pytest.fixture
def release(tmp_path: Path, settings: Any) -> Release:
    """With a recipe and two experiments of the site's own, on a machine of its own."""
    settings.DATA_DIR = tmp_path / "data"
    settings.MODELS_DIR = tmp_path / "data" / "models"
    settings.ENCODER_DEVICE = "cpu"
    recipe = {**SMALL, "base": str(tiny.checkpoint(tmp_path / "base"))}
    table = {
        "title": "A small table",
        "source": "A paper",
        "systems": {"one": {"recipe": "../small.yaml"}},
        "sizes": {"tiny": {"seeds": [1]}},
    }
    folder = settings.DATA_DIR / "recipes"
    (folder / "experiments").mkdir(parents=True)
    (folder / "small.yaml").write_text(yaml.safe_dump(recipe))
    (folder / "experiments" / "table.yaml").write_text(yaml.safe_dump(table))
    asking = {**table, "questions": {"NQ": "nq.jsonl"}}
    (folder / "experiments" / "asking.yaml").write_text(yaml.safe_dump(asking))
    campaign: Campaign = make_campaign("demo")
    return stored_release(campaign)


@pytest.fixture
def ada() -> User:
    user = User.objects.create_user("ada")
    wanted = ["add_trainedmodel", "download_release"]
    user.user_permissions.set(Permission.objects.filter(codename__in=wanted))
    return user


@pytest.fixture
def adas(ada: User) -> Client:
    return signed_in(ada)


def asked(client: Client, kind: str, of: str, **more: str) -> Job:
    said = {"of": of, "release": "demo-1", **more}
    answer = client.post(LIST, {"kind": kind, **{f"{kind}-{name}": said[name] for name in said}})
    assert answer.status_code == 302, text_of(answer)
    job = Job.objects.latest("pk")
    assert answer["Location"] == f"{LIST}/{job.pk}"
    return job


def done(job: Job) -> Job:
    """As the worker does."""
    assert run(job.pk, uuid.uuid4().hex, HANDLERS)
    job.refresh_from_db()
    assert job.state == "done", job.error
    return job


def release_folder() -> Path:
    """Where jobs fetch releases to."""
    return Path(django_settings.DATA_DIR) / "fetched"


def test_a_model_is_trained_and_then_scored(release: Release, adas: Client) -> None:
    assert "There is no model yet." in text_of(adas.get(LIST))
    job = done(asked(adas, "train", "small", name="mine"))
    assert "There is no model yet." not in text_of(adas.get(LIST))
    assert job.result["model"] == TrainedModel.objects.get().name == "mine"
    assert 0 <= job.result["P@1"] <= 1
    assert "The model and its figures" in text_of(adas.get(f"{LIST}/{job.pk}"))

    fetched = release_folder()
    assert not list(fetched.iterdir())
    killed = fetched / "job-0" / "demo-1"
    killed.mkdir(parents=True)
    scored = done(asked(adas, "score", "mine", split="dev"))
    assert not list(fetched.iterdir())
    assert scored.result["P@1"] == scored.result["measured"]["metrics"]["P@1"]["value"]
    said = text_of(adas.get(f"{LIST}/{scored.pk}"))
    assert "Against retriever" in said
    assert "mine, dev, on demo-1" in text_of(adas.get(LIST))


def test_an_experiment_ends_with_its_table_and_plot(release: Release, adas: Client) -> None:
    job = done(asked(adas, "experiment", "table", size="tiny"))
    said = text_of(adas.get(f"{LIST}/{job.pk}"))
    assert "A small table" in said
    assert "P@1" in said
    for name, theme in product(("figures", "hit"), ("light", "dark")):
        plot = adas.get(reverse("training-plot", args=[job.pk, name, theme]))
        assert b"<svg" in b"".join(plot)  # type: ignore[arg-type]
    assert adas.get(reverse("training-plot", args=[job.pk, "other", "light"])).status_code == 404
    report = job.result["report"]
    report["plot"] = report.pop("plots")["hit"]  # as jobs before had one alone
    job.save()
    assert adas.get(reverse("training-plot", args=[job.pk, "hit", "light"])).status_code == 200


def test_a_cancelled_training_stops_and_is_resumed(
    release: Release, adas: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = asked(adas, "train", "small")
    monkeypatch.setattr("core.leases.BEAT_SECONDS", 0.01)
    assert adas.post(f"{LIST}/{job.pk}/cancel").status_code == 302
    job.refresh_from_db()
    assert (job.state, job.error) == ("failed", "Cancelled by ada.")
    assert run(job.pk, "late", HANDLERS) is None
    page = text_of(adas.get(f"{LIST}/{job.pk}"))
    assert "Resume" in page
    assert adas.post(f"{LIST}/{job.pk}/cancel", follow=True).status_code == 200  # it has ended
    assert adas.post(f"{LIST}/{job.pk}/resume").status_code == 302
    again = done(Job.objects.latest("pk"))
    assert (again.pk != job.pk, again.arguments) == (True, job.arguments)
    verbs = AuditEntry.objects.order_by("pk").values_list("verb", flat=True)
    assert list(verbs) == ["train", "cancel-training", "train"]


def test_who_is_at_a_cancelled_job_stops_at_the_next_step(release: Release, adas: Client) -> None:
    job = asked(adas, "train", "small")

    def handler(job: Job, watch: Any) -> dict[str, object]:
        adas.post(f"{LIST}/{job.pk}/cancel")
        watch._write()  # the next beat
        watch.stage("learning", 10)(1)
        raise AssertionError

    with pytest.raises(JobLost):
        run(job.pk, "mine", {"train": handler})
    job.refresh_from_db()
    assert job.error == "Cancelled by ada."


def test_what_cannot_be_done_is_refused_on_the_page(release: Release, adas: Client) -> None:
    asked(adas, "train", "small")
    answer = adas.post(
        LIST, {"kind": "train", "train-of": "small", "train-release": "demo-1", "train-name": ""}
    )
    assert answer.status_code == 422
    assert "already running" in text_of(answer)
    wrong = {"kind": "train", "train-of": "../secret", "train-release": "demo-1"}
    assert "Select a valid choice" in text_of(adas.post(LIST, wrong))


def test_a_program_asks_for_the_same(release: Release, ada: User) -> None:
    program = Program(ada)
    listed = program.get("recipes").json()
    assert listed == {
        "recipes": recipes(),
        "experiments": experiments(),
    }
    assert {"small", "retriever-qqa", "reranking/qr"} <= set(listed["recipes"])
    assert listed["experiments"]["asking"] == ["tiny", "cpu", "paper"]
    assert "cpu" in listed["experiments"]["reranking/reranking-1"]
    sent = {"kind": "train", "of": "small", "campaign": "demo", "number": 1}
    answer = program.post("trainings", sent, key="one")
    assert answer.status_code == 202
    job = Job.objects.get()
    assert answer.headers["Location"] == f"/api/v1/trainings/{job.pk}"
    assert program.post("trainings", sent, key="one").json() == answer.json()
    assert program.post(f"trainings/{job.pk}/cancel", {}).json()["state"] == "failed"
    assert program.post(f"trainings/{job.pk}/resume", {}).status_code == 202
    assert [row["state"] for row in program.get("trainings").json()["results"]] == [
        "queued",
        "failed",
    ]
    gone = {**sent, "number": 9}
    assert "demo-9" in program.post("trainings", gone, key="two").json()["detail"]


def test_people_s_judgments_are_asked_for_by_who_may_see_them(
    release: Release, ada: User, adas: Client
) -> None:
    program = Program(ada)
    sent = {"kind": "experiment", "of": "asking", "campaign": "demo", "number": 1, "judge": "right"}
    unseen = "There is no campaign right of the task `answer` whose labels you may see."
    make_campaign("right", task="answer")
    assert "people of right" not in text_of(adas.get(LIST))
    assert program.post("trainings", sent, key="one").json()["detail"] == unseen
    ada.user_permissions.add(Permission.objects.get(codename="view_judgment"))
    wrong = {**sent, "of": "table"}
    assert "asks no questions" in program.post("trainings", wrong, key="two").json()["detail"]
    assert "people of right" in text_of(adas.get(LIST))
    assert asked(adas, "experiment", "asking", size="tiny", judge="right").arguments["judge"]


def test_another_s_training_does_not_exist(release: Release, adas: Client) -> None:
    job = asked(adas, "train", "small")
    bob = User.objects.create_user("bob")
    bob.user_permissions.set(Permission.objects.filter(codename="add_trainedmodel"))
    assert signed_in(bob).get(f"{LIST}/{job.pk}").status_code == 404
    assert signed_in(bob).post(f"{LIST}/{job.pk}/cancel").status_code == 404


def test_a_site_s_own_file_stands_before_quorum_s_of_the_same_name(release: Release) -> None:
    own = django_settings.DATA_DIR / "recipes" / "retriever-qqa.yaml"
    own.write_text("kind: selector\n")
    assert recipe_file("retriever-qqa") == own
    own.unlink()
    assert recipe_file("retriever-qqa").parent == training_requests.SHIPPED


def test_an_experiment_with_a_fault_is_offered_and_says_what_it_is(
    release: Release, ada: User, adas: Client
) -> None:
    faulty = django_settings.DATA_DIR / "recipes" / "experiments" / "faulty.yaml"
    faulty.write_text("systems: [")
    assert "faulty" in text_of(adas.get(LIST))
    sent = {"kind": "experiment", "of": "faulty", "campaign": "demo", "number": 1}
    refused = Program(ada).post("trainings", sent, key="one")
    assert "faulty.yaml is not YAML in UTF-8" in refused.json()["detail"]
    faulty.write_text("title: Mended\nsystems: {one: {recipe: ../small.yaml}}\n")
    assert asked(adas, "experiment", "faulty", size="tiny").state == Job.State.QUEUED
    sent = {**sent, "of": "lost"}
    faulty.with_name("lost.yaml").write_text("title: Lost\nsystems: {one: {recipe: gone.yaml}}\n")
    refused = Program(ada).post("trainings", sent, key="two")
    assert "gone.yaml cannot be read" in refused.json()["detail"]


def test_what_no_page_can_show_is_not_offered(release: Release, adas: Client) -> None:
    """An editor's lock is a link that leads nowhere; a name may be no text."""
    folder = django_settings.DATA_DIR / "recipes"
    before = recipes()
    (folder / ".#small.yaml").symlink_to("somebody@somewhere.1")
    (folder / "a folder.yaml").mkdir()
    (folder / f"{'a' * 61}.yaml").write_text("")
    Path(os.fsdecode(b"/".join((os.fsencode(folder), b"\xff.yaml")))).write_text("")
    os.mkfifo(folder / "experiments" / "pipe.yaml")
    assert recipes() == before
    assert adas.get(LIST).status_code == 200


def test_a_job_of_long_names_keeps_a_subject_of_its_own() -> None:
    one, other = (
        WantedTraining("experiment", "e" * 60, "c" * 60, number).subject for number in (1, 2)
    )
    assert len(one) == len(other) == LONGEST_SUBJECT == Job._meta.get_field("subject").max_length
    assert one != other
