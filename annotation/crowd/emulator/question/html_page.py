"""An HTMLQuestion as its frame gets it: what it would send to MTurk comes to us."""

import re

SUBMIT = re.compile(
    r"(?:https?:)?//(?:www|workersandbox)\.mturk\.com/mturk/externalSubmit", re.IGNORECASE
)
SCRIPT = re.compile(
    r"(?:https?:)?//(?:s3\.amazonaws\.com/mturk-public|mturk-public\.s3\.amazonaws\.com)"
    r"/externalHIT_v1\.js",
    re.IGNORECASE,
)

# Requesters' scripts run in an origin of their own: they cannot reach the worker's session.
SANDBOX = "allow-scripts allow-forms allow-popups"
HEADERS = {
    "Content-Security-Policy": f"sandbox {SANDBOX}",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

# Pages call these functions of MTurk's public script by name.
EXTERNAL_HIT = """\
function turkGetParam(name, otherwise) {
  const value = new URLSearchParams(location.search).get(name);
  return value === null ? (otherwise ?? "") : value;
}
function turkGetSubmitToHost() {
  return turkGetParam("turkSubmitTo", location.origin);
}
function turkSetAssignmentID(formName, buttonName) {
  const assignment = turkGetParam("assignmentId");
  const field = document.getElementById("assignmentId");
  if (field) field.value = assignment;
  const form = document.getElementById(formName ?? "mturk_form");
  if (form) form.action = turkGetSubmitToHost() + "/mturk/externalSubmit";
  const button = document.getElementById(buttonName ?? "submitButton");
  if (button && assignment === "ASSIGNMENT_ID_NOT_AVAILABLE") {
    button.disabled = true;
    button.value = "You must accept the HIT before you can submit it.";
  }
}
"""


def page(content: str, *, submit_url: str, script_url: str) -> str:
    """Both addresses must be absolute."""
    return SCRIPT.sub(lambda _: script_url, SUBMIT.sub(lambda _: submit_url, content))
