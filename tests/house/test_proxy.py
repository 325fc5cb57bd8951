"""The proxy that the docs configure starts with that configuration."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from demo.processes import ROOT

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
MAIN = """
pid {folder}/pid;
error_log {folder}/log;
events {{}}
http {{
access_log off;
{site}
}}
"""


@pytest.mark.skipif(NGINX is None and "CI" not in os.environ, reason="there is no nginx")
def test_nginx_takes_the_configuration_of_the_docs(tmp_path: Path) -> None:
    assert NGINX is not None
    page = (ROOT / "docs" / "deployment.md").read_text()
    [site] = re.findall(r"```nginx\n(.*?)```", page, re.DOTALL)
    key, certificate = tmp_path / "quorum.key", tmp_path / "quorum.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=quorum"]
    subprocess.run([*request, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    config = tmp_path / "nginx.conf"
    config.write_text(MAIN.format(folder=tmp_path, site=site.replace("/etc/ssl/", f"{tmp_path}/")))
    done = subprocess.run([NGINX, "-t", "-c", config], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
