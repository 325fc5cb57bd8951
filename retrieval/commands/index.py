"""`quorum index`: builds the index that candidates are retrieved from, and keeps its vectors."""

import time
from typing import Annotated, Any

import typer
from django.conf import settings
from tqdm import tqdm

from core.command import Device, Noun, Result, choice, progress, record, say
from core.errors import UserError
from core.output import Facts, Rendered
from core.text.words import plural
from retrieval.corpus.corpora import corpus_named
from retrieval.index.choice import BYTES
from retrieval.index.lazy import lexical_index
from retrieval.index.versions import chosen_index
from retrieval.indexing.build import build_index
from retrieval.indexing.inventory import Store, stores
from retrieval.indexing.plan import AUTO, PRECISIONS, BuildOptions
from retrieval.indexing.prune import prune
from retrieval.indexing.verify import bytes_to_read, damaged
from retrieval.jobs.count_sources import SUBJECT
from retrieval.jobs.handlers import subject_of
from retrieval.models import IndexForm, IndexKind, IndexVersion
from retrieval.models.corpus import ALL, name_of
from retrieval.registry.registry import resolve_model, trained_form

app = Noun("Indexes and their vectors: build, list, verify, prune.")


@app.verb("build", render=lambda result: Facts(result | {"choice": None}))  # said already
def build(
    model: Annotated[
        str,
        typer.Option(
            help="Registered model, installed model package, folder or sentence-transformers name.",
            show_default="QUORUM_ENCODER",
        ),
    ] = settings.ENCODER_MODEL,
    form: Annotated[
        str | None,
        choice(
            "--form",
            IndexForm.values,
            "QQA: question and answer together; QQ: the question alone. Without it, what the model "
            "was trained for, else QQA.",
        ),
    ] = None,
    device: Device = settings.ENCODER_DEVICE,
    kind: Annotated[
        str,
        choice(
            "--kind",
            (AUTO, *IndexKind.values),
            "Kind of index: exact ones find every neighbour, the others nearly all.",
        ),
    ] = AUTO,
    store: Annotated[str, choice("--store", (AUTO, *BYTES), "How the vectors are stored.")] = AUTO,
    precision: Annotated[
        str, choice("--precision", (AUTO, *PRECISIONS), "Precision in which pairs are encoded.")
    ] = AUTO,
    recall: Annotated[
        float,
        typer.Option(
            help="Minimum share of the exact nearest 30 that an approximate index must find, "
            "measured when it is built."
        ),
    ] = BuildOptions.recall,
    processes: Annotated[
        str, typer.Option(metavar="N", help="Processes that encode on the CPU: a number, or auto.")
    ] = "1",
    spread: Annotated[
        bool, typer.Option("--spread", help="Let the workers of the queue `encoding` encode.")
    ] = False,
    lexical: Annotated[
        bool, typer.Option("--lexical", help="Build the BM25 index as well.")
    ] = False,
    corpus: Annotated[
        str, typer.Option(metavar="NAME", help="Corpus to index; `all` has every pair.")
    ] = ALL,
) -> Result:
    """Encode the pairs of a corpus and build its index; only new pairs are encoded."""
    chosen = corpus_named(corpus)
    wanted = BuildOptions(
        kind=kind,
        store=store,
        precision=precision,
        recall=recall,
        processes=_number_of_processes(processes),
        spread=spread,
    )
    with progress(None, "Encoding", " pairs") as bar:
        encoding = Encoding(bar)
        model = resolve_model(model)
        trained = _form_trained_for(model, form)
        index = build_index(
            model,
            form or trained or IndexForm.QQA,
            device,
            encoding.count,
            corpus=chosen,
            options=wanted,
            announce=encoding.begin,
        )
    facts = _facts(index, encoding) | {"note": _of_another_form(trained, index.form)}
    kept = ("model", "form", "kind", "store", "precision", "pairs", "unchanged")
    details = {name: facts[name] for name in kept} | {"words_asked_for": lexical}
    record("build index", subject=subject_of(corpus), details=details)
    if lexical:
        with progress(index.pairs, "Reading for BM25", " pairs") as bar:
            lexical_index(index, bar.update)
    return facts


def _number_of_processes(value: str) -> int | None:
    if value == AUTO:
        return None
    if not value.isdecimal() or int(value) < 1:
        raise typer.BadParameter(f"--processes: {value!r} is neither auto nor a number from 1 on.")
    return int(value)


def _form_trained_for(model: str, asked: str | None) -> str | None:
    """None where no training of a retriever is known of; UserError where its record is broken."""
    try:
        form = trained_form(model)
    except UserError:
        if asked is None:
            raise
        return None  # who names the form needs no record of it
    # What loads it refuses a selector by its own words.
    return form if form in IndexForm.values else None


def _of_another_form(trained: str | None, form: str) -> str | None:
    if trained in (None, form):
        return None
    return f"the model was trained for {trained} and not for {form}"


class Encoding:
    """What a build tells as it goes on; shown on the bar and kept for the result."""

    def __init__(self, bar: "tqdm[Any]") -> None:
        self._bar = bar
        self.choice = ""  # empty: the index was there
        self.pairs = 0
        self._began = self._ended = 0.0

    def begin(self, missing: int, choice: str) -> None:
        self.choice = choice
        self._began = time.monotonic()
        self._bar.reset(missing)
        say(choice)

    def count(self, pairs: int) -> None:
        self.pairs += pairs
        self._ended = time.monotonic()
        self._bar.update(pairs)

    @property
    def pairs_a_second(self) -> int | None:
        return round(self.pairs / (self._ended - self._began)) if self.pairs else None


def _facts(index: IndexVersion, encoding: Encoding) -> dict[str, object]:
    measured = index.manifest["recall_measured"] or {}
    return {
        "corpus": name_of(index.corpus),
        "model": index.known_as,
        "form": index.form,
        "kind": index.kind,
        "store": index.manifest["store"]["dtype"],
        "precision": index.manifest["store"]["precision"],
        "choice": encoding.choice or None,
        "unchanged": not encoding.choice,
        "pairs": index.pairs,
        "newly_encoded": encoding.pairs,
        "pairs_a_second": encoding.pairs_a_second,
        "recall": index.recall,
        "recall_at": measured.get("at"),
        "recall_sample": measured.get("sample"),
        "dimension": index.dimension,
        "folder": index.path,
    }


def _listed(result: Result) -> Rendered:
    lines = [line for store in result["stores"] for line in _store_lines(store)]
    return lines or "There are no vectors yet: encode the corpus with `quorum index build`."


@app.verb("list", render=_listed)
def list_stores() -> Result:
    """List the stores of vectors, and the index versions that use them."""
    return {"stores": [_store(store) for store in stores()]}


def _store(store: Store) -> dict[str, object]:
    identity = store.identity
    return {
        "store": store.folder.name,
        "model": _known_as(store),
        "loaded_by": identity.model,
        "form": identity.form,
        "precision": identity.precision,
        "dtype": identity.dtype,
        "dimension": identity.dimension,
        "vectors": store.vectors,
        "shards": len(store.shards),
        "bytes": store.bytes,
        "versions": [_version(version) for version in store.versions],
    }


def _known_as(store: Store) -> str:
    """As the indexes over it tell the model: a registered one by its name."""
    return next((version.known_as for version in store.versions), store.identity.model)


def _version(version: IndexVersion) -> dict[str, object]:
    return {
        "path": version.path,
        "corpus": name_of(version.corpus),
        "current": version == chosen_index(version.corpus),
        "kind": version.kind,
        "pairs": version.pairs,
        "recall": version.recall,
        "chosen_at": version.chosen_at,
        "query_sets": sorted(version.query_sets.values_list("name", flat=True)),
    }


def _store_lines(store: dict[str, Any]) -> list[str]:
    return [
        f"{store['store']}  {store['form']} {store['model']}, {store['dimension']} x "
        f"{store['dtype']} computed in {store['precision']}: "
        f"{plural(store['vectors'], 'vector')} in {plural(store['shards'], 'shard')}, "
        f"{_size(store['bytes'])}",
        *(
            f"  {version['path']}  {version['corpus']}  current: "
            f"{'yes' if version['current'] else 'no '}  "
            f"{version['kind']}, {plural(version['pairs'], 'pair')}, chosen "
            f"{version['chosen_at']:%Y-%m-%d %H:%M}" + _used(version["query_sets"])
            for version in store["versions"]
        ),
    ]


def _verified(result: Result) -> Rendered:
    return result["damaged"] or f"{_size(result['bytes'])} read, all as recorded"


def _damage(result: Result) -> str | None:
    number = len(result["damaged"])
    files = "1 file is" if number == 1 else f"{number:,} files are"
    return f"{files} damaged." if number else None


@app.verb("verify", render=_verified, fault=_damage)
def verify() -> Result:
    """Read every file of vectors again. Exit status 2 if any is damaged."""
    size = bytes_to_read()
    with progress(size, "Reading", "B") as bar:
        return {"bytes": size, "damaged": list(damaged(bar.update))}


def _pruned(result: Result) -> Rendered:
    gone = result["folders"] + result["files"]
    if not gone:
        return "nothing to delete: a kept version needs all there is"
    done = "would be deleted" if result["dry_run"] else "deleted"
    return [*gone, f"{_size(result['bytes'])} {done}"]


@app.verb("prune", render=_pruned)
def prune_vectors(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be deleted, and delete nothing.")
    ] = False,
) -> Result:
    """Delete vectors that nothing needs.

    Kept are the current index, the last one of each form for its model, and those that query sets
    were retrieved with.
    """
    plan = prune(dry_run=dry_run)
    if not dry_run and (plan.versions or plan.folders or plan.files):
        folders = [folder.name for folder in plan.folders]
        details = {"folders": folders, "files": len(plan.files), "bytes": plan.bytes}
        record("prune vectors", subject=SUBJECT, details=details)
    return {
        "dry_run": dry_run,
        "kept": [version.path for version in plan.kept],
        "folders": [str(folder) for folder in plan.folders],
        "files": [str(path) for path in plan.files],
        "bytes": plan.bytes,
    }


def _used(query_sets: list[str]) -> str:
    return f", for {', '.join(query_sets)}" if query_sets else ""


def _size(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
