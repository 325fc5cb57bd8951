"""Packages for Mechanical Turk, as they are on the index, at the site's Turk: `make test-services`
installs them in an environment of their own."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.turk.models import RequesterAccount
from tests.annotation.crowd.turk.conftest import (
    Join,
    _answers_at_once,  # noqa: F401 - a fixture, as the two that follow
    join,  # noqa: F401
    lab,  # noqa: F401
    submit,
)

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True)]
ROOT = Path(__file__).parents[3]
PYTHON = ROOT / "var/venv-clients/bin/python"
PACKAGES = {"psiturk": "psiTurk", "dallinger": "Dallinger"}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_posts_reviews_and_pays(
    package: str,
    join: Join,  # noqa: F811
    lab: RequesterAccount,  # noqa: F811
    live_server: LiveServer,
    tmp_path: Path,
) -> None:
    def run(step: str, *arguments: str) -> dict[str, object]:
        command = [PYTHON, Path(__file__).with_name("packages.py"), package, step, url, *arguments]
        keys = {
            "AWS_ACCESS_KEY_ID": lab.access_key_id,
            "AWS_SECRET_ACCESS_KEY": lab.secret_access_key,
            "HOME": str(tmp_path),
            "PATH": os.environ["PATH"],
        }
        ran = subprocess.run(command, cwd=tmp_path, env=keys, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        answer: dict[str, object] = json.loads(ran.stdout.splitlines()[-1])
        return answer

    url = f"{live_server.url}/turk/sandbox/"
    posted = run("post")
    assert float(str(posted["balance"])) == 10_000 - 3 * 0.25
    for name in ("ada", "bob"):
        assert submit(join(name).take(), colour="red").status_code == 200
    reviewed = run("review", str(posted["hit"]))
    assert reviewed["statuses"] == ["Approved", "Approved"]
    assert float(str(reviewed["balance"])) == 10_000 - 2 * 0.25 - 0.10


def test_the_docs_say_which_releases_run() -> None:
    lock = (ROOT / "requirements/clients.txt").read_text(encoding="utf-8")
    docs = (ROOT / "docs/turk.md").read_text(encoding="utf-8")
    for package, name in PACKAGES.items():
        [release] = re.findall(rf"(?m)^{package}==(\S+)", lock)
        assert f"{name} {release}" in docs.replace("\n", " ")
