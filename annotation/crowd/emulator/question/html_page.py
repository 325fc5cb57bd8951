"""An HTMLQuestion as its frame gets it: what it would send to MTurk comes to us."""

import re
from pathlib import Path

SUBMIT = re.compile(
    r"(?:https?:)?//(?:www|workersandbox)\.mturk\.com/mturk/externalSubmit", re.IGNORECASE
)
SCRIPT = re.compile(
    r"(?:https?:)?//(?:s3\.amazonaws\.com/mturk-public|mturk-public\.s3\.amazonaws\.com)"
    r"/externalHIT_v1\.js",
    re.IGNORECASE,
)

# Requesters' scripts run in an origin of their own: they cannot reach the worker's session.
# What they open, such as a survey elsewhere, is as free as any other page.
SANDBOX = "allow-scripts allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox"
HEADERS = {
    "Content-Security-Policy": f"sandbox {SANDBOX}",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

# Pages call these functions of MTurk's public script by name.
EXTERNAL_HIT = Path(__file__).with_name("externalHIT_v1.js").read_text(encoding="utf-8")


def page(content: str, *, submit_url: str, script_url: str) -> str:
    """Both addresses must be absolute."""
    return SCRIPT.sub(lambda _: script_url, SUBMIT.sub(lambda _: submit_url, content))
