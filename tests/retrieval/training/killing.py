"""A training in a process of its own, ended by SIGKILL after so many steps."""

import signal
import subprocess
import sys

SCRIPT = """
import django, os
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
django.setup()
import signal
from {module} import *
steps = 0
def step(count):
    global steps
    steps += count
    if steps == {after}:
        os.kill(os.getpid(), signal.SIGKILL)
{call}
"""


def killed(module: str, call: str, after: int) -> None:
    """`call`: written with the module's names, and `step` as the one that is told of steps."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(module=module, call=call, after=after)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
