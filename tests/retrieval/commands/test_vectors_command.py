"""`quorum index`: what there is, what is damaged, and what nobody needs any more."""

import json
import os
import time
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from core.command import Error
from core.errors import UserError
from retrieval.index.lexical.bm25_index import lexical_folder
from retrieval.index.versions import current_index, folder_of, index_root
from retrieval.indexing.build import build_index
from retrieval.indexing.prune import prune
from retrieval.models import EncodingJob, IndexVersion, QuerySet
from retrieval.vectors.folder import IDENTITY, one_build, store_folder
from retrieval.vectors.shards import Identity, files_of, sound_shards, write_shard
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.retrieval.vectors.shard_files import keys_of, vectors_of
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db

KEYWORDS = KeywordEncoder("rain snow hail fog")
PAIRS = [(f"Is rain {n} wet?", "Yes, as snow.") for n in range(20)]


def build(form: str = "QQ", encoder: Any = KEYWORDS) -> IndexVersion:
    return build_index("unused", form, "cpu", encoder=encoder)


def vectors(step: str, *options: str) -> Any:
    out = StringIO()
    quorum("index", step, "--json", *options, stdout=out)
    return json.loads(out.getvalue())


def words(step: str, *options: str) -> str:
    out = StringIO()
    quorum("index", step, "--quiet", *options, stdout=out)
    return out.getvalue().rstrip()


def folder_of_store(version: IndexVersion) -> Path:
    return store_folder(index_root(), Identity(**version.manifest["store"]))


def grow_old(folder: Path) -> None:
    """Written an hour before any version was chosen."""
    for path in folder.glob("shard-*"):
        os.utime(path, (time.time() - 3600, time.time() - 3600))


@pytest.fixture
def version(add_pairs: AddPairs) -> IndexVersion:
    add_pairs(PAIRS)
    return build()


# list


def test_a_store_is_listed_with_the_versions_over_it(version: IndexVersion) -> None:
    QuerySet.objects.create(name="faq", origin="file", retrieved_with=version)
    [store] = vectors("list")["stores"]
    folder = folder_of_store(version)
    size = sum(path.stat().st_size for path in folder.glob("*.npy"))
    assert store | {"versions": None} == {
        "store": folder.name,
        "model": "keywords",
        "loaded_by": "keywords",
        "form": "QQ",
        "precision": "fp32",
        "dtype": "float32",
        "dimension": 5,
        "vectors": 20,
        "shards": 1,
        "bytes": size,
        "versions": None,
    }
    [over] = store["versions"]
    assert (over["path"], over["current"]) == (version.path, True)
    assert (over["pairs"], over["query_sets"]) == (20, ["faq"])
    said = words("list")
    assert (
        f"{folder.name}  QQ keywords, 5 x float32 computed in fp32: 20 vectors in 1 shard, " in said
    )
    assert f"  {version.path}  all  current: yes  exact, 20 pairs, chosen " in said
    assert said.endswith(", for faq")


def test_one_is_told_as_one_and_one_version_is_the_current_one(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS[:1])
    before = build("QQA")
    now = build("QQ")
    said = words("list")
    assert said.count(": 1 vector in 1 shard, ") == 2
    assert f"  {before.path}  all  current: no   exact, 1 pair, chosen " in said
    assert f"  {now.path}  all  current: yes  exact, 1 pair, chosen " in said


def test_where_nothing_is_nothing_is_listed(db: None) -> None:
    assert words("list") == "There are no vectors yet: encode the corpus with `quorum index build`."
    assert words("verify") == "0.0 MB read, all as recorded"


# verify


def test_what_is_as_recorded_is_sound(version: IndexVersion) -> None:
    found = vectors("verify")
    assert found["damaged"] == []
    inside = [*folder_of_store(version).glob("*.npy"), *folder_of(version).glob("*.npy")]
    assert found["bytes"] == sum(path.stat().st_size for path in inside)


def test_every_damaged_file_is_named(version: IndexVersion) -> None:
    folder = folder_of_store(version)
    [shard] = sound_shards(folder, Identity(**version.manifest["store"]))
    keys, stored = (folder / name for name in files_of(shard.name))
    keys.unlink()
    stored.write_bytes(stored.read_bytes()[:-1] + b"?")
    (folder / "shard-0.json").write_text("{}")
    manifest = folder_of(version) / "manifest.json"
    manifest.write_text("{}")
    out = StringIO()
    with pytest.raises(Error, match=r"^4 files are damaged\.$") as caught:
        quorum("index", "verify", "--quiet", stdout=out)
    assert caught.value.returncode == 2
    rebuild = "run `quorum index build --model keywords --form QQ`"
    hint = f"{rebuild}."
    assert out.getvalue().splitlines() == [
        f"{folder / 'shard-0.json'} is no record of a shard of this store: {rebuild}, then "
        "`quorum index prune`.",
        f"The index file {keys} is missing: {hint}",
        f"The index file {stored} is not the one recorded for this index, its checksum differs: "
        + hint,
        f"{manifest} is not the one recorded for this index: {hint}",
    ]


def damage(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    return path


def complaints() -> list[str]:
    out = StringIO()
    with pytest.raises(Error, match=r"^(1 file is|[2-9] files are) damaged\.$"):
        quorum("index", "verify", "--quiet", stdout=out)
    return out.getvalue().splitlines()


def test_what_only_pruning_clears_is_to_be_pruned(version: IndexVersion) -> None:
    build(encoder=KeywordEncoder("rain fog", name="others"))
    grow_old(folder_of_store(version))
    [stored] = folder_of_store(version).glob("*.vectors.npy")
    manifest = folder_of(version) / "manifest.json"
    damage(stored)
    [said] = complaints()
    assert said.startswith(f"The index file {stored} is not the one recorded")
    assert said.endswith(": run `quorum index prune`.")
    damage(manifest)
    assert [one.endswith(": run `quorum index prune`.") for one in complaints()] == [True] * 2
    vectors("prune")
    assert vectors("verify")["damaged"] == []


def test_what_pruning_does_not_yet_clear_asks_for_the_index_first(version: IndexVersion) -> None:
    """It may be of a build that was stopped: that goes on, and then the rest is cleared."""
    record = next(path for path in unneeded_shard(version) if path.suffix == ".json")
    damage(record)
    [said] = complaints()
    assert said.endswith(
        ": run `quorum index build --model keywords --form QQ`, then `quorum index prune`."
    )
    assert build() == version
    vectors("prune")
    assert vectors("verify")["damaged"] == []


def test_what_the_last_version_of_another_form_needs_is_made_again(version: IndexVersion) -> None:
    build("QQA")
    [stored] = folder_of_store(version).glob("*.vectors.npy")
    damage(stored)
    [said] = complaints()
    assert said.endswith(": run `quorum index build --model keywords --form QQ`.")
    build()
    assert vectors("verify")["damaged"] == []


def test_what_only_query_sets_need_is_to_be_restored(version: IndexVersion) -> None:
    QuerySet.objects.create(name="faq", origin="file", retrieved_with=version)
    build(encoder=KeywordEncoder("rain fog", name="others"))
    [stored] = folder_of_store(version).glob("*.vectors.npy")
    damage(stored)
    [said] = complaints()
    assert said.endswith(": restore it from a backup, query sets were retrieved with it.")


def test_before_the_first_index_its_build_is_what_mends(version: IndexVersion) -> None:
    [stored] = folder_of_store(version).glob("*.vectors.npy")
    version.delete()
    damage(stored)
    [said] = complaints()
    assert said.endswith(": run `quorum index build --model keywords --form QQ`.")


def test_a_store_that_does_not_say_whose_it_is_is_refused(version: IndexVersion) -> None:
    path = folder_of_store(version) / IDENTITY
    path.write_text("[]")
    with pytest.raises(Error, match=f"{path} does not say"):
        words("verify")


# prune


def test_what_a_kept_version_needs_stays(version: IndexVersion) -> None:
    grow_old(folder_of_store(version))
    assert words("prune") == "nothing to delete: a kept version needs all there is"
    assert current_index() == version


def test_the_last_version_of_each_form_stays(version: IndexVersion) -> None:
    together = build("QQA")
    assert set(vectors("prune")["kept"]) == {version.path, together.path}
    assert build("QQ") == version
    assert current_index() == version


def test_another_models_vectors_go_first_said_then_done(version: IndexVersion) -> None:
    other = build(encoder=KeywordEncoder("rain fog", name="others"))
    grow_old(folder_of_store(version))
    size = sum(path.stat().st_size for path in folder_of_store(version).glob("shard-*"))
    size += sum(path.stat().st_size for path in folder_of(version).iterdir())
    plan = vectors("prune", "--dry-run")
    assert (plan["kept"], plan["folders"]) == ([other.path], [str(folder_of(version))])
    assert (len(plan["files"]), plan["bytes"]) == (3, size)
    assert folder_of(version).is_dir()
    assert words("prune", "--dry-run").endswith(" MB would be deleted")
    done = vectors("prune")
    assert done == plan | {"dry_run": False}
    assert not folder_of(version).exists()
    assert [path.name for path in (index_root() / "stores").iterdir()] == [
        folder_of_store(other).name
    ]
    assert list(IndexVersion.objects.all()) == [other]
    assert current_index() == other
    assert vectors("verify")["damaged"] == []


def test_what_query_sets_were_retrieved_with_stays(version: IndexVersion) -> None:
    QuerySet.objects.create(name="faq", origin="file", retrieved_with=version)
    build(encoder=KeywordEncoder("rain fog", name="others"))
    grow_old(folder_of_store(version))
    assert vectors("prune")["files"] == []
    assert vectors("verify")["damaged"] == []
    assert IndexVersion.objects.count() == 2


def unneeded_shard(version: IndexVersion) -> list[Path]:
    identity = Identity(**version.manifest["store"])
    folder = folder_of_store(version)
    shard = write_shard(folder, identity, keys_of(range(9)), vectors_of(range(9)))
    return sorted(folder.glob(f"{shard.name}*"))


def test_shards_that_no_version_names_go_and_younger_ones_stay(version: IndexVersion) -> None:
    """A build that was stopped has left them, and goes on from them."""
    spare = unneeded_shard(version)
    assert vectors("prune")["files"] == []
    grow_old(folder_of_store(version))
    assert sorted(vectors("prune")["files"]) == [str(path) for path in spare]
    assert len(sound_shards(folder_of_store(version), Identity(**version.manifest["store"]))) == 1


def test_files_without_a_record_go_too(version: IndexVersion) -> None:
    record, keys, stored = unneeded_shard(version)
    record.unlink()
    grow_old(folder_of_store(version))
    assert vectors("prune")["files"] == [str(keys), str(stored)]


def test_what_workers_are_encoding_for_stays(version: IndexVersion) -> None:
    unneeded_shard(version)
    folder = folder_of_store(version)
    grow_old(folder)
    EncodingJob.objects.create(store=folder.name, identity={}, model="keywords")
    assert vectors("prune")["files"] == []


def test_a_folder_that_the_database_does_not_know_goes(version: IndexVersion) -> None:
    strays = [
        index_root() / inside / "qq-of-another-database" for inside in ("versions", "lexical")
    ]
    for stray in strays:
        (stray / "deep").mkdir(parents=True)
        (stray / "deep" / "file").write_text("x")
    lexical = lexical_folder(version)
    lexical.mkdir()
    assert vectors("prune")["folders"] == [str(stray) for stray in strays]
    assert [stray.exists() for stray in strays] == [False, False]
    assert lexical.exists()


def test_nothing_is_cleared_while_an_index_is_built(version: IndexVersion) -> None:
    IndexVersion.objects.update(chosen_at=timezone.now() + timedelta(hours=1))
    spare = unneeded_shard(version)
    with one_build(index_root()), pytest.raises(UserError, match="is being built already"):
        prune(dry_run=False)
    assert all(path.exists() for path in spare)
    assert prune(dry_run=False).files
