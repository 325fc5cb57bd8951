"""Every benchmark still finds what it measures: a rename that leaves one behind fails here."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# In a process of its own: benchmarks choose their own settings and data folder.
IMPORT = """
import importlib
from pathlib import Path
for path in sorted(Path("benchmarks").glob("**/*.py")):
    importlib.import_module(".".join(path.with_suffix("").parts))
"""


def test_every_benchmark_imports() -> None:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", f"import benchmarks.ready\n{IMPORT}"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
