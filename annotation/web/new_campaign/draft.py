"""What a person has said of a campaign that is not created yet: in their session and one file."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from annotation.crowd.factory import PROVIDERS
from annotation.operations.campaigns import Wanted, forget_old_queries, own_queries_folder
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.presets import PRESETS, TEAM, Preset
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS, TaskType
from core.errors import UserError
from core.files.open import open_unpacked
from retrieval.models.corpus import ALL
from retrieval.query_sets.held_out import read_queries
from retrieval.query_sets.proposed import read_proposed

KEY = "new_campaign"
PLANNED = "plan"  # the preset of a plan's choice
MOST_BYTES = 50_000_000
MOST_UNPACKED = 4 * MOST_BYTES
STEP = 1 << 20
EXAMPLES = 3
NAMELESS = "new"  # the campaign has no name yet, which its answers' source will have
SUFFIX = re.compile(r"(\.[a-z]{2,5}){1,2}$")


@dataclass(frozen=True)
class QueriesFile:
    """A file of queries that was read without a fault."""

    name: str  # as its owner calls it
    stored: str
    queries: int
    duplicates: int
    examples: list[str]
    task: str = PAPER_TASK.name  # that it was read for
    triplets: int = 0  # where it has them too

    @property
    def path(self) -> Path:
        return own_queries_folder() / self.stored


@dataclass
class Draft:
    preset: str = TEAM.name  # that its policy began as, and for which task
    task: str = PAPER_TASK.name
    name: str = ""
    sample: int | None = None  # None: the file
    seed: int = 0
    file: QueriesFile | None = None
    policy: dict[str, Any] = field(default_factory=lambda: TEAM.policy().to_dict())
    is_agreed: bool = False  # to the policy
    corpus: str = ALL
    budget: str = ""  # as it was typed
    # Its policy, campaigns like it, people, hours.
    plan: dict[str, Any] = field(default_factory=dict)
    job: int | None = None  # that creates the campaign

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        known = {one.name for one in fields(cls)}
        kept = request.session.get(KEY, {})
        draft = cls(**{name: value for name, value in kept.items() if name in known})
        if isinstance(draft.file, dict):
            kept = QueriesFile(**draft.file)
            draft.file = kept if kept.path.is_file() or draft.job else None
        return draft

    def keep(self, request: HttpRequest) -> None:
        request.session[KEY] = asdict(self)

    def forget(self, request: HttpRequest) -> None:
        request.session.pop(KEY, None)
        if self.job is None:  # the file is the job's now
            self.drop_file()

    def drop_file(self) -> None:
        if self.file:
            self.file.path.unlink(missing_ok=True)
            self.file = None

    @property
    def presets(self) -> Mapping[str, Preset]:
        """Those of everybody, and a plan's first."""
        if not self.plan:
            return PRESETS
        lead = f"The rules that you chose, after {', '.join(self.plan['like'])}."
        return {PLANNED: Preset(PLANNED, "As planned", lead, self.plan["policy"]), **PRESETS}

    def begin_as(self, preset: str, task: str) -> None:
        """Another preset or task than before begins the policy again."""
        if (preset, task) != (self.preset, self.task):
            self.preset, self.task, self.is_agreed = preset, task, False
            policy = self.presets[preset].policy(TASKS[task])
            self.policy = replace(policy, **PROVIDERS[policy.crowd].fees()).to_dict()

    @property
    def rules(self) -> Policy:
        return Policy.from_dict(self.policy)

    @property
    def queries(self) -> int:
        """How many it would have; 0: nobody has said yet."""
        if self.sample is not None:
            return self.sample
        return self.file.queries if self.file else 0

    @property
    def triplets(self) -> int:
        if self.sample is None and self.file and self.file.triplets:
            return self.file.triplets
        return self.queries * self.rules.candidates_per_query

    def wanted(self, budget_cents: int) -> Wanted:
        file = self.file if self.sample is None else None
        plan = self.plan if self.preset == PLANNED else {}
        return Wanted(
            self.name,
            self.policy,
            self.seed,
            self.sample,
            stored=file.stored if file else "",
            file=file.name if file else "",
            budget_cents=budget_cents,
            corpus=self.corpus,
            like=plan.get("like", ()),
            people=plan.get("people"),
            hours=plan.get("hours"),
        )


def read_upload(upload: "UploadedFile[Any]", task: TaskType = PAPER_TASK) -> QueriesFile:
    """Keep the file until its campaign is created; UserError where its queries cannot be used."""
    name = upload.name or "the file"
    if (upload.size or 0) > MOST_BYTES:
        raise UserError(f"{name} is larger than {MOST_BYTES:,} bytes: give the queries alone.")
    folder = own_queries_folder()
    folder.mkdir(parents=True, exist_ok=True)
    forget_old_queries()
    ending = SUFFIX.search(name.lower())
    path = folder / (secrets.token_hex(16) + (ending[0] if ending else ""))
    with path.open("wb") as stored:
        for chunk in upload.chunks():
            stored.write(chunk)
    try:
        _check_unpacked(path)
        read = _read(path, task)
    except UserError as error:
        path.unlink()
        raise UserError(str(error).replace(str(path), name)) from error
    queries, duplicates, examples, triplets = read
    return QueriesFile(name, path.name, queries, duplicates, examples, task.name, triplets)


def _read(path: Path, task: TaskType) -> tuple[int, int, list[str], int]:
    """Queries, repeated ones, a few examples, triplets where the file has them."""
    if task.brings_candidates:
        proposed = read_proposed(path, NAMELESS).queries
        examples = [query.text for query in proposed[:EXAMPLES]]
        return len(proposed), 0, examples, sum(len(query.candidates) for query in proposed)
    drafts, duplicates = read_queries(path)
    return len(drafts), duplicates, [draft.text for draft in drafts[:EXAMPLES]], 0


def _check_unpacked(path: Path) -> None:
    """A few packed bytes may be made to fill the memory, into which the queries are read."""
    unpacked = 0
    with open_unpacked(path) as (stream, _):
        while unpacked <= MOST_UNPACKED and (step := stream.read(STEP)):
            unpacked += len(step)
    if unpacked > MOST_UNPACKED:
        raise UserError(
            f"{path} unpacks to more than {MOST_UNPACKED:,} bytes: give the queries alone."
        )
