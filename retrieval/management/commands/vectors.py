"""`manage.py vectors list|verify|prune`: the vectors that indexes are made of."""

from typing import Any

from django.core.management.base import CommandParser

from core.command import REFUSED, Error, QuorumCommand, add_subcommand, record
from retrieval.index.versions import chosen_index
from retrieval.indexing.inventory import Store, stores
from retrieval.indexing.prune import prune
from retrieval.indexing.verify import bytes_to_read, damaged
from retrieval.jobs.count_sources import SUBJECT
from retrieval.models import IndexVersion


class Command(QuorumCommand):
    help = "The vectors that indexes are made of: list, verify, prune."

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
        add_subcommand(steps, "list", help="the stores, and the versions of indexes over them")
        add_subcommand(
            steps, "verify", help="read every file again; exit status 2 where any is damaged"
        )
        pruned = add_subcommand(
            steps,
            "prune",
            help="clear what is needed neither by the current index, nor by the last one of each "
            "form for its model, nor by one that query sets were retrieved with",
        )
        pruned.add_argument("--dry-run", action="store_true", help="only say what would go")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        self.damaged: list[str] = []
        if options["step"] == "list":
            return {"stores": [_facts(store) for store in stores()]}
        if options["step"] == "verify":
            return self._verify()
        plan = prune(dry_run=options["dry_run"])
        if not options["dry_run"] and (plan.versions or plan.folders or plan.files):
            folders = [folder.name for folder in plan.folders]
            details = {"folders": folders, "files": len(plan.files), "bytes": plan.bytes}
            record("prune vectors", subject=SUBJECT, details=details)
        return {
            "dry_run": options["dry_run"],
            "kept": [version.path for version in plan.kept],
            "folders": [str(folder) for folder in plan.folders],
            "files": [str(path) for path in plan.files],
            "bytes": plan.bytes,
        }

    def _verify(self) -> dict[str, object]:
        size = bytes_to_read()
        with self.progress(size, "Reading", unit="B") as bar:
            self.damaged = list(damaged(bar.update))
        return {"bytes": size, "damaged": self.damaged}

    def render(self, result: dict[str, Any]) -> str:
        if "stores" in result:
            lines = [line for store in result["stores"] for line in _lines(store)]
            return "\n".join(lines) or "there are no vectors yet"
        if "damaged" in result:
            sound = f"{_size(result['bytes'])} read, all as recorded"
            return "\n".join(result["damaged"]) or sound
        return _pruned(result)

    def execute(self, *args: Any, **options: Any) -> str | None:
        """The report is printed first, in full; then the exit status says what it came to."""
        output = super().execute(*args, **options)
        if self.damaged:
            one = len(self.damaged) == 1
            found = "1 file is" if one else f"{len(self.damaged):,} files are"
            raise Error(f"{found} damaged.", returncode=REFUSED)
        return output


def _facts(store: Store) -> dict[str, object]:
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
        "current": version == chosen_index(),
        "kind": version.kind,
        "pairs": version.pairs,
        "recall": version.recall,
        "chosen_at": version.chosen_at,
        "query_sets": sorted(version.query_sets.values_list("name", flat=True)),
    }


def _lines(store: dict[str, Any]) -> list[str]:
    return [
        f"{store['store']}  {store['form']} {store['model']}, {store['dimension']} x "
        f"{store['dtype']} computed in {store['precision']}: "
        f"{_counted(store['vectors'], 'vector')} in {_counted(store['shards'], 'shard')}, "
        f"{_size(store['bytes'])}",
        *(
            f"  {version['path']}  current: {'yes' if version['current'] else 'no '}  "
            f"{version['kind']}, {_counted(version['pairs'], 'pair')}, chosen "
            f"{version['chosen_at']:%Y-%m-%d %H:%M}" + _used(version["query_sets"])
            for version in store["versions"]
        ),
    ]


def _counted(number: int, one: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {one}s"


def _used(query_sets: list[str]) -> str:
    return f", for {', '.join(query_sets)}" if query_sets else ""


def _pruned(result: dict[str, Any]) -> str:
    gone = result["folders"] + result["files"]
    if not gone:
        return "nothing to clear: a kept version needs all there is"
    done = "would be cleared" if result["dry_run"] else "cleared"
    return "\n".join([*gone, f"{_size(result['bytes'])} {done}"])


def _size(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
