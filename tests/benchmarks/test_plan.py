"""`make bench SIZE=plan` at a tiny size."""

import json

from benchmarks import folders
from benchmarks.quality import plan


def test_what_is_planned_stands_beside_what_comes() -> None:
    assert plan.main(plan.Size(configurations=2, items=2_000, known=2_000)) == 0
    kept = json.loads((folders.RESULTS / "plan.json").read_text())
    assert [one["known"] for one in kept["compared"]] == [2_000, 2_000, 1_000, 1_000]
    assert all(one["cost"]["within_0.1"] == 2 for one in kept["compared"])
