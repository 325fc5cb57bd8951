"""A downloaded release against what the crowd itself has recorded."""

import json
import re
import tarfile
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import zstandard

from annotation.models import Exclusion, HitItem
from tests.services.stack import ServiceStack
from tests.support.unpacking import unpack

Texts = tuple[str, str]  # query and question
SPLITS = ("train", "dev", "test")
SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
ANSWERS = f"{{{SCHEMAS}/2005-10-01/QuestionFormAnswers.xsd}}"


def unpacked(archive: Path, folder: Path) -> Path:
    """The one folder that the archive holds."""
    with (
        archive.open("rb") as packed,
        zstandard.ZstdDecompressor().stream_reader(packed) as stream,
        tarfile.open(fileobj=stream, mode="r|") as files,
    ):
        unpack(files, folder)
    [found] = folder.iterdir()
    return found


def labels_in(release: Path) -> dict[Texts, int]:
    """Of all splits; a triplet that stands in two of them is refused."""
    labels: dict[Texts, int] = {}
    for name in SPLITS:
        for line in (release / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            query = json.loads(line)
            for candidate in query["candidates"]:
                key = (query["query"], candidate["question"])
                assert key not in labels, f"twice in the release: {key}"
                labels[key] = candidate["label"]
    return labels


def majorities(votes: Mapping[Texts, Sequence[int]]) -> dict[Texts, int]:
    """Where more than half say the same."""
    decided = {}
    for texts, values in votes.items():
        yes = sum(values)
        if 2 * yes != len(values):
            decided[texts] = int(2 * yes > len(values))
    return decided


@dataclass(frozen=True)
class _Shown:
    """What stood on the page under an item's name."""

    hit: str | None  # as the crowd names it
    texts: Texts
    expected: int | None  # of a control


def votes_at_the_emulator(stack: ServiceStack) -> dict[Texts, list[int]]:
    """From its own file: of submitted work that has every control right, by the not excluded."""
    shown = {item.key: _shown(item) for item in _items()}
    expected: dict[str | None, dict[str, int]] = defaultdict(dict)
    for key, one in shown.items():
        if one.expected is not None:
            expected[one.hit][key] = one.expected
    out = set(
        Exclusion.objects.filter(restored_at=None).values_list("worker__worker_id", flat=True)
    )
    votes: dict[Texts, list[int]] = defaultdict(list)
    for hit, worker, xml in stack.rows(
        "SELECT hit_id, worker_id, answer FROM assignments WHERE status IN ('Approved', 'Rejected')"
    ):
        given = dict(_answers(xml))
        if worker in out or any(given[key] != right for key, right in expected[hit].items()):
            continue
        for key, value in given.items():
            if shown[key].expected is None:
                votes[shown[key].texts].append(value)
    return votes


def _items() -> Iterator[HitItem]:
    found = HitItem.objects.select_related(
        "hit", "control", "triplet__candidate__query", "triplet__candidate__pair"
    )
    return found.iterator()


def _shown(item: HitItem) -> _Shown:
    if item.control is not None:
        texts = (item.control.query, item.control.question)
        return _Shown(item.hit.crowd_id, texts, int(item.control.expected))
    assert item.triplet is not None
    candidate = item.triplet.candidate
    return _Shown(item.hit.crowd_id, (candidate.query.text, candidate.pair.question), None)


def _answers(xml: str) -> Iterator[tuple[str, int]]:
    for answer in ET.fromstring(xml).iter(f"{ANSWERS}Answer"):
        name = answer.findtext(f"{ANSWERS}QuestionIdentifier", "")
        if item := re.fullmatch(r"item-(\w+)", name):
            yield item[1], int(answer.findtext(f"{ANSWERS}FreeText", ""))
