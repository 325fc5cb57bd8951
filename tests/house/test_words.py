"""One word for one idea: models and the API speak the glossary's words; folders stay small."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles

from django.apps import apps
from django.urls import URLPattern, URLResolver, get_resolver

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
OURS = ("annotation", "config", "core", "exports", "retrieval")
OUR_APPS = {"retrieval", "annotation", "exports", "inhouse", "turk"}
# What a folder need not count. Django prescribes these names to an app, and only an app has them.
ASIDE = {"README", "__init__", "conftest"}
OF_AN_APP = {"admin", "apps", "migrations", "models", "static", "urls"}
# How many entries a folder may hold that holds more than 15.
LARGER = {
    "": (30, "the files that tools look for at the root"),
    "benchmarks/results": (29, "written by the benchmarks: a file for each set of figures or plot"),
    "docs": (22, "a page for each subject, flat so that links between them stay short"),
    "tests/retrieval": (18, "a twin of each floor of retrieval, its app's modules included"),
}


def singular(word: str) -> str:
    for ending, one in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("uses", "us")):
        if word.endswith(ending):
            return word.removesuffix(ending) + one
    return word if word.endswith(("ss", "us", "is")) else word.removesuffix("s")


def words(text: str) -> set[str]:
    return {singular(word) for word in re.findall(r"[a-z0-9]+", text.lower())}


def api_paths(patterns: list[URLPattern | URLResolver], path: str = "") -> Iterator[str]:
    for pattern in patterns:
        here = path + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from api_paths(pattern.url_patterns, here)
        elif here.startswith("api/v1/"):
            yield re.sub(r"<.*?>|\(\?P.*?\)", " ", here.removeprefix("api/v1/"))


def test_the_glossary_has_every_model_and_every_word_of_the_api() -> None:
    said = words(GLOSSARY)
    models = {
        model.__name__: words(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", model.__name__))
        for app in OUR_APPS
        for model in apps.get_app_config(app).get_models()
    }
    paths = {path: words(path) for path in api_paths(get_resolver().url_patterns)}
    assert len(models) > 40
    assert len(paths) > 60
    named = models | paths
    assert {name: parts - said for name, parts in named.items() if parts - said} == {}


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [path for path in map(Path, listed.stdout.splitlines()) if (ROOT / path).exists()]


def test_the_glossary_has_every_word_of_a_module_and_lists_no_other() -> None:
    modules = [path for path in tracked() if path.suffix == ".py" and path.parts[0] in OURS]
    assert len(modules) > 500
    used = {
        word: path
        for path in modules
        for stem in (*path.parent.parts, path.stem)
        if not stem.startswith(("__", "0"))
        for word in words(stem)
    }
    above, _, listed = GLOSSARY.partition("## Words of modules")
    cells = [row.split("|")[1] for row in listed.splitlines()[6:]]
    known, extra = words(above), words(" ".join(cells))
    assert {word: path for word, path in used.items() if word not in known | extra} == {}
    assert extra - used.keys() == set()


def entries() -> Counter[Path]:
    """How many files and folders each folder holds, those that each may have aside.

    Migrations are Django's, and grow by one with each change of a table.
    """
    listed = tracked()
    found = {
        (parent, parent / path.relative_to(parent).parts[0])
        for path in listed
        for parent in path.parents
    }
    of_apps = {path.parent for path in listed if path.name == "apps.py"}
    return Counter(
        parent
        for parent, entry in found
        if parent.name != "migrations"
        and entry.stem.removeprefix("test_") not in ASIDE
        and not (parent in of_apps and entry.stem in OF_AN_APP)
    )


def test_a_folder_holds_about_a_dozen_entries() -> None:
    counted = entries()
    assert len(counted) > 80
    assert quantiles(counted.values(), n=10)[-1] <= 12
    most = {Path(folder): number for folder, (number, _) in LARGER.items()}
    assert all(counted[folder] > 15 for folder in most), "a folder that shrank needs no exception"
    assert {str(it): held for it, held in counted.items() if held > most.get(it, 15)} == {}


# Of the plan's old column, those that name nothing else.
OLD_WORDS = re.compile(
    r"(^|_)(suggest(ed|ions?)?|spares?|barred|blacklist(ed)?|shut_out|deeds?|intents?|rehears\w+"
    r"|foreseen?|carry_out|by_hand|pack_campaign|signals|pace|importance|thinning|truth|what_if"
    r"|quoted|supplies|standing|stuck|told|crew|desks?|onlookers?|practi[cs]ed?"
    r"|audit(s|ed|able)|made_elsewhere|housekeeping|arms?|meters?|lessons?|as_told|registering"
    r"|lift|reworded|heart|board|suits|works|open_places?)(_|$)"
    r"|^_?found$|^_shown$"
)
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def names(path: Path) -> Iterator[str]:
    """Of a module: itself, and what it defines, takes and assigns."""
    yield path.stem
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name


def test_no_name_of_ours_is_an_old_word() -> None:
    modules = [path for path in tracked() if path.suffix == ".py" and path.parts[0] in OURS]
    old = {
        f"{path}: {name}"
        for path in modules
        for name in names(path)
        if OLD_WORDS.search(CAMEL.sub("_", name).lower())
    }
    assert old == set()
