"""What was imported is deleted: of one person, or all of it."""

from pathlib import Path

import pytest
from django.core.management import CommandError

from annotation.models import AuditEntry, PastRecord, Worker
from annotation.pipeline.history.import_history import import_history
from annotation.pipeline.history.read import files_in
from tests.support.command_line import quorum
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db
FILES = Path(__file__).parent / "files"


@pytest.fixture(autouse=True)
def _imported() -> None:
    for file in files_in([FILES]):
        import_history(file)


def keys() -> set[str]:
    return set(PastRecord.objects.exclude(kind="bonus").values_list("key", flat=True))


def test_a_person_is_forgotten_with_all_they_did_and_nobody_else() -> None:
    before = keys()
    quorum("import", "forget", "--worker", "AADA", "--yes")
    assert before - keys() == {"AADA", "3ASG1", "3ASG3"}
    assert not PastRecord.objects.filter(kind="bonus").exists()
    assert "AADA" not in str(list(PastRecord.objects.values()))
    assert set(Worker.objects.values_list("worker_id", flat=True)) == {"ABOB", "AEVE", "grace"}
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.details["deleted"]) == ("forget-history", 4)
    assert "AADA" not in str(AuditEntry.objects.values())
    with pytest.raises(CommandError, match="Nothing was imported of a worker 'AADA'"):
        quorum("import", "forget", "--worker", "AADA", "--yes")


def test_everything_is_forgotten_and_can_be_imported_again() -> None:
    before = keys()
    quorum("import", "forget", "--everything", "--yes")
    assert not PastRecord.objects.exists()
    assert not Worker.objects.exists()
    assert AuditEntry.objects.get().subject == "everybody"
    with pytest.raises(CommandError, match="Nothing was imported: there is nothing to delete"):
        quorum("import", "forget", "--everything", "--yes")
    for file in files_in([FILES]):
        import_history(file)
    assert keys() == before


def test_it_is_asked_for_and_one_thing_is_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        quorum("import", "forget", "--worker", "AADA")
    assert (
        "All imported records of AADA are deleted permanently (assignment: 2, bonus: 1, worker: 1)."
        in capsys.readouterr().err
    )
    for words in ([], ["--everything", "--worker", "AADA"]):
        with pytest.raises(CommandError, match="Name one worker, or choose everything"):
            quorum("import", "forget", *words, "--yes")
    assert PastRecord.objects.filter(worker__worker_id="AADA").exists()


def test_what_is_known_of_a_worker_from_here_stays(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.advance()
    quorum("import", "forget", "--everything", "--yes")
    ada = Worker.objects.get()
    assert (ada.worker_id, ada.assignments.count(), ada.past.count()) == ("AADA", 1, 0)
