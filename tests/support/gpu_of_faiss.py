"""FAISS's calls for a GPU, answered on the CPU; where there is a GPU, FAISS answers itself.

A copy on the CPU stands for the one on the GPU. It asserts what a GPU of FAISS 1.15 refuses (more
than 2,048 results or lists) and what it would not do, and not say (leave rows out).
"""

from types import SimpleNamespace
from typing import Any

import faiss
import pytest

MOST = 2_048


class Lists:
    def __init__(self, index: Any) -> None:
        self._index = faiss.clone_index(index)

    def search(self, queries: Any, k: int, *, params: Any) -> Any:
        assert params.sel is None
        assert max(k, params.nprobe) <= MOST
        return self._index.search(queries, k, params=params)


def stand_in(patch: pytest.MonkeyPatch) -> None:
    if not faiss.get_num_gpus():
        patch.setattr(faiss, "get_num_gpus", lambda: 1)
        patch.setattr(faiss, "StandardGpuResources", SimpleNamespace, raising=False)
        patch.setattr(faiss, "GpuClonerOptions", SimpleNamespace, raising=False)
        patch.setattr(faiss, "index_cpu_to_gpu", _copy, raising=False)


def _copy(resources: Any, device: int, index: Any, options: Any = None) -> Any:
    assert device == 0
    return Lists(index) if isinstance(index, faiss.IndexIVF) else faiss.clone_index(index)
