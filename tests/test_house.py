"""The README and the tree say the same, and the rules of the house hold."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
LOAD_THE_PAGES = """
import sys, django
django.setup()
import config.urls
print(*sys.modules)
"""
OUR_APPS = {"retrieval", "annotation", "exports"}


def picture() -> str:
    return README.split("```")[1]


def modules_of_the_picture() -> set[tuple[str, str]]:
    """(package, module): each column of the picture stands under its package."""
    lines = picture().strip().splitlines()
    packages = re.finditer(r"retrieval|annotation|exports", lines[0])
    columns = [(match.start(), match[0]) for match in packages]
    found = set()
    for line in lines[1:]:
        for word in re.finditer(r"[a-z_]+(?:\.[a-z_]+)*", line):
            if word[0] in {"train.jsonl", "dev.jsonl", "test.jsonl", "stats.json", "manifest.json"}:
                continue
            found.add((max((c for c in columns if c[0] <= word.start()))[1], word[0]))
    return found


def test_every_module_of_the_picture_exists() -> None:
    named = modules_of_the_picture()
    assert len(named) >= 12
    for package, module in named:
        places = [package, f"{package}/pipeline"]
        path = module.replace(".", "/")
        assert any(
            (ROOT / place / f"{path}.py").exists() or (ROOT / place / path).is_dir()
            for place in places
        ), f"{package}.{module} is in the README's picture but not in the tree"


def test_money_is_booked_by_the_ledger_alone() -> None:
    """`Entry(...)` or `Entry.objects.create(...)`, under whatever name a module imports it."""
    found = {
        str(path.relative_to(ROOT))
        for app in OUR_APPS
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts and makes_entries(path.read_text(encoding="utf-8"))
    }
    assert found == {
        "annotation/pipeline/ledger/accounts.py",
        "annotation/pipeline/ledger/postings.py",
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


def test_the_readme_names_every_command() -> None:
    ours = {name for name, app in get_commands().items() if app in OUR_APPS}
    named = set(re.findall(r"^\| `([a-z_]+)", README, flags=re.MULTILINE))
    assert ours <= named


def test_the_readme_names_every_variable_that_the_settings_read() -> None:
    read = set(re.findall(r'"((?:QUORUM|AWS)_[A-Z_]+)"', (ROOT / "config/settings.py").read_text()))
    read |= set(re.findall(r'"(QUORUM_[A-Z_]+)"', (ROOT / "config/gunicorn.py").read_text()))
    assert read
    assert [name for name in sorted(read) if f"`{name}`" not in README] == []


def test_the_readme_names_the_make_targets_that_people_need() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {"demo", "test", "test-services", "services", "run", "lint", "lock"} <= targets
    assert [
        target for target in targets - {"help", "setup"} if f"make {target}" not in README
    ] == []


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


@pytest.mark.parametrize(
    ("contract", "packages", "itself"),
    [
        ("The splits know nothing of ours", ["exports"], "exports.splits.splits"),
        ("The emulator knows nothing of ours", ["annotation.crowd"], "annotation.crowd.emulator"),
        ("The emulator knows nothing of ours", ["annotation"], "annotation.crowd"),
    ],
)
def test_a_contract_names_every_other_module_of_the_package(
    contract: str, packages: list[str], itself: str
) -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    named = next(one for one in linter["contracts"] if one["name"] == contract)
    others = {module for package in packages for module in modules_of(package)} - {itself}
    assert others - {*named["source_modules"], *named["forbidden_modules"]} == set()


def modules_of(package: str) -> set[str]:
    folder = ROOT / package.replace(".", "/")
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    return {
        f"{package}.{name}"
        for name in files | {p.parent.name for p in folder.glob("*/__init__.py")}
    }


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


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions are counted too."""
    graph = grimp.build_graph("core", *sorted(OUR_APPS), cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names them
