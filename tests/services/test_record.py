"""A campaign's record makes the same bytes on PostgreSQL and on SQLite."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from demo.processes import ROOT, without_outside
from exports.extract.extract import extract
from tests.exports.extract.oracle import contents, salted
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.services
# Keys whose order a database would settle by its collation; every kind of vote and of work.
VERDICTS = {
    "b": ["ada+ bob+", "ada+ bob- third+", "ada- bob-"],
    "C": ["ada- bob-", "ada- bob+ third-", "eve+ ada- bob-"],
    "_a": ["ada+ bob+", "ada+ bob- third- fourth+", "ada- eve+! third-"],
    "é": ["", "ada+", "ada- bob-"],
}
TEXT = '\t"quotes"\n<b> ü 日本 \U0001f980 NA'
ON_SQLITE = """
import sys
from pathlib import Path
import django
django.setup()
from django.core.management import call_command
from exports.extract.extract import extract
from tests.exports.support.campaigns import make_campaign
from tests.exports.extract.oracle import salted
from tests.services.test_record import TEXT, VERDICTS
call_command("migrate", verbosity=0)
campaign = salted(make_campaign(VERDICTS, text=TEXT, backwards=True))
extract(campaign, Path(sys.argv[1]), partial=True)
"""


@pytest.mark.usefixtures("on_postgresql")
def test_the_same_record_makes_the_same_bytes_on_both_databases(tmp_path: Path) -> None:
    assert connection.vendor == "postgresql"
    campaign = salted(make_campaign(VERDICTS, text=TEXT))
    extract(campaign, tmp_path / "postgresql", partial=True)
    environment = {
        **without_outside(os.environ),
        "QUORUM_DATA": str(tmp_path / "data"),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    command = [sys.executable, "-c", ON_SQLITE, str(tmp_path / "sqlite")]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    assert contents(tmp_path / "sqlite") == contents(tmp_path / "postgresql")
