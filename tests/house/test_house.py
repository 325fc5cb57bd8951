"""The rules of the house hold."""

import ast
import os
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LOAD_THE_PAGES = """
import sys, django
django.setup()
import config.urls
print(*sys.modules)
"""
OUR_APPS = {"retrieval", "annotation", "exports"}
# Of several rooms at once: all of the API, of the pipeline; a walk through every page.
OF_ALL_ROOMS = {"annotation/api/whole", "annotation/pipeline/whole", "annotation/web/walk"}


def test_money_is_booked_by_the_ledger_alone() -> None:
    """`Entry(...)` or `Entry.objects.create(...)`, under whatever name a module imports it."""
    found = {
        str(path.relative_to(ROOT))
        for app in OUR_APPS
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts and makes_entries(path.read_text(encoding="utf-8"))
    }
    assert found == {
        "annotation/pipeline/ledger/reservations.py",
        "annotation/pipeline/ledger/settlements.py",
    }


def makes_entries(source: str) -> bool:
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    names = re.findall(r"\bEntry as (\w+)", source)
    entry = rf"(.*\.)?({'|'.join(['Entry', *names])})"
    made = rf"{entry}|{entry}\.objects\.\w*create|.*\.entries\.\w*create"
    return any(re.fullmatch(made, ast.unparse(call)) for call in calls)


@pytest.mark.parametrize(
    "source",
    [
        "Entry(cents=1)",
        "models.Entry(cents=1)",
        "Entry.objects.create(cents=1)",
        "Entry.objects.bulk_create([])",
        "account_of(campaign).entries.create(cents=1)",
        "from annotation.models import Entry as Booking\nBooking(cents=1)",
    ],
)
def test_a_booking_is_recognised_however_it_is_written(source: str) -> None:
    assert makes_entries(source)
    assert not makes_entries("Entry.objects.filter(hit=1)\nEntryPoint(1)")


def test_the_docs_name_every_make_target() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {"demo", "test", "test-services", "services", "run", "lint", "lock"} <= targets
    said = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [name for name in sorted(targets - {"help"}) if f"make {name}" not in said] == []


@pytest.mark.parametrize("name", ["cpu", "gpu", "dev"])
def test_the_locks_hold_hashes_and_no_address(name: str) -> None:
    lock = (ROOT / "requirements" / f"{name}.txt").read_text()
    pinned = re.findall(r"^([a-z0-9-]+)==\S+(?: ; .+?)? \\$", lock, flags=re.MULTILINE)
    blocks = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)[1:]
    assert len(pinned) == len(blocks) > 50
    assert all("--hash=sha256:" in block for block in blocks)
    assert "://" not in lock
    assert "torch" not in pinned


def test_the_dev_lock_leaves_faiss_to_the_runtime() -> None:
    """Else `make test EXTRA=gpu` would put faiss-cpu over faiss-gpu."""
    assert "faiss" not in (ROOT / "requirements" / "dev.txt").read_text()


def test_the_site_loads_nothing_that_only_builds_of_releases_need() -> None:
    """Each web process and each command loads the pages: seconds, and hundreds of megabytes."""
    loaded = subprocess.run(
        [sys.executable, "-c", LOAD_THE_PAGES],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "exports.web.release" in loaded
    heavy = {"bm25s", "datasketch", "faiss", "matplotlib", "pyarrow", "scipy", "sklearn", "torch"}
    assert heavy.isdisjoint(loaded)


def test_the_tests_mirror_the_tree() -> None:
    """A folder of tests has the name of a folder, or of a module, of the product."""
    folders = {
        path.parent.relative_to(ROOT / "tests")
        for package in ("core", *OUR_APPS)
        for path in (ROOT / "tests" / package).rglob("test_*.py")
    }
    strange = {
        str(folder)
        for folder in folders
        if not (ROOT / folder).is_dir() and not (ROOT / f"{folder}.py").is_file()
    }
    assert strange == OF_ALL_ROOMS


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions are counted too."""
    graph = grimp.build_graph("core", *sorted(OUR_APPS), cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names them
