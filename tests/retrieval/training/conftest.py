from pathlib import Path

import pytest

from tests.retrieval.training import tiny


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny checkpoint without a head."""
    return tiny.checkpoint(tmp_path_factory.mktemp("bare") / "tiny")


@pytest.fixture(scope="session")
def tiny_retriever(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.retriever(tmp_path_factory.mktemp("retriever") / "tiny")
