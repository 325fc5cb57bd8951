"""A graph of near rows (FAISS HNSW) over codes of 8 bits a number: fast for one question.

About 650 bytes a row of 384 numbers; two cores add some 1,500 such rows a second. Hundreds of equal
vectors are linked to each other alone and hide what is near them: the measured recall tells.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import faiss

from retrieval.index.approximate.faiss_index import FaissIndex, number
from retrieval.index.tuning import sample
from retrieval.vectors.store import VectorStore

TRAINED_ON = 50_000  # rows, which give each number's range
# Links of a row (twice as many at the bottom), and how many rows are looked at to choose them.
LINKS = 32
EF_CONSTRUCTION = 200
# The ranking asks for 70 rows to find 30, and FAISS looks at no fewer.
TUNING_VALUES = (70, 85, 100, 125, 150, 200, 250, 300, 400, 500, 700, 1000)


class HnswIndex(FaissIndex):
    kind: ClassVar[str] = "hnsw"
    faiss_class: ClassVar[type] = faiss.IndexHNSWSQ
    tuned: ClassVar[str] = "ef_search"

    @classmethod
    def _trained(
        cls, store: VectorStore, parameters: Mapping[str, object]
    ) -> tuple[Any, dict[str, object]]:
        links = int(number(parameters, "links", LINKS))
        ef_construction = int(number(parameters, "ef_construction", EF_CONSTRUCTION))
        index = faiss.IndexHNSWSQ(
            store.identity.dimension,
            faiss.ScalarQuantizer.QT_8bit,
            links,
            faiss.METRIC_INNER_PRODUCT,
        )
        index.hnsw.efConstruction = ef_construction
        index.train(store.rows(sample(store, TRAINED_ON)))
        return index, {"links": links, "ef_construction": ef_construction}

    def _values(self) -> Sequence[int]:
        return TUNING_VALUES

    def _params(self, selector: Any, value: int) -> Any:
        return faiss.SearchParametersHNSW(efSearch=value, sel=selector)
