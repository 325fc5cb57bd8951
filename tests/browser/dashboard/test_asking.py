"""The page that answers, in light, in the dark and on a phone: an answer, none, and a refusal."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from pytest_django import Settings

from retrieval.encoders.lazy import load_encoder
from retrieval.indexing.build import build_index
from tests.browser.conftest import sign_in
from tests.browser.eye import Eye
from tests.retrieval.answering.saved import selector_folder, training_folder
from tests.retrieval.jobs.run_jobs import sent, worked
from tests.retrieval.training import tiny

ROWS = f"""question,answer,license
How do I bake bread?,{"Of flour and water; and with patience. " * 12},CC0
What is the capital of France?,Paris,
How do I boil an egg?,Ten minutes in water.,MIT
"""


@pytest.fixture(autouse=True)
def _tiny_model(eye: Eye, settings: Settings, tmp_path: Path) -> None:
    """An index by a tiny model with random weights."""
    settings.INDEX_DIR = tmp_path / "index"
    settings.ENCODER_MODEL = str(tiny.retriever(tmp_path / "retriever"))
    sign_in(eye.page, eye.url, "root")


def test_a_question_and_its_answer(eye: Eye, settings: Settings, tmp_path: Path) -> None:
    worked(sent({"faq.csv": ROWS.encode()}, source="faq"))
    model = settings.ENCODER_MODEL
    build_index(model, "QQ", "cpu", encoder=load_encoder(model, "cpu"))
    eye.open("/admin/database/ask")
    eye.page.get_by_label("Question").fill("How do I bake bread?")
    eye.page.get_by_role("button", name="Ask").click()
    expect(eye.page.get_by_role("heading", name="Answer", exact=True)).to_be_visible()
    expect(eye.page.get_by_text("No answer selector is set")).to_be_visible()
    eye.look("an answer")

    training = training_folder(tmp_path / "trained", threshold=0.9999)
    selector_folder(training / "seed-2/model")
    settings.SELECTOR = str(training)
    eye.page.get_by_role("button", name="Ask").click()
    expect(eye.page.get_by_role("heading", name="No confident answer")).to_be_visible()
    eye.look("no answer")
    eye.assert_well()


def test_without_an_index_it_says_what_to_do(eye: Eye) -> None:
    eye.open("/admin/database/ask?q=why", expect=422)
    expect(eye.page.get_by_role("alert")).to_contain_text("There is no index yet")
    eye.assert_well()
