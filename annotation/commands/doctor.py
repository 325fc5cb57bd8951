"""`quorum doctor`: what is missing for the crowd chosen."""

from dataclasses import asdict
from typing import Annotated

from django.conf import settings

from annotation.crowd.factory import open_crowd
from annotation.monitoring.doctor import Check, crowds_at_hand, examine
from annotation.protocol.policy.crowds import CROWDS, CrowdKind
from core.command import Noun, Result, choice
from core.output import Rendered

app = Noun(alone=True)


def _report(result: Result) -> Rendered:
    return [line for check in result["checks"] for line in _lines(check)]


def _lines(check: Result) -> list[str]:
    state = "ok" if check["ok"] else "missing"
    hint = [] if check["ok"] else [f"{'':<24}{check['hint']}"]
    return [f"{state:<8}{check['name']:<16}{check['message']}", *hint]


def _missing(result: Result) -> str | None:
    missing = [check["name"] for check in result["checks"] if not check["ok"]]
    return f"Something is missing: {', '.join(missing)}." if missing else None


@app.verb("doctor", render=_report, fault=_missing)
def doctor(
    crowd: Annotated[
        CrowdKind | None,
        choice("--crowd", CROWDS, "Crowd to check. By default, those of the campaigns."),
    ] = None,
) -> Result:
    """Check the installation: database, broker, crowd, public address, controls, index.

    Exit status 2 if anything is missing. Nothing is spent.
    """
    # It only looks: nothing is spent, so production asks for no --live here.
    # Its one call waits for no Redis: whether that answers is a check of its own.
    checks: dict[tuple[str, str], Check] = {}  # several crowds share some
    for kind in [crowd] if crowd else crowds_at_hand():
        port = open_crowd(kind, live=True, shared_rate=False)
        examined = examine(port, public_url=settings.PUBLIC_URL, broker=settings.CELERY_BROKER_URL)
        checks |= {(check.name, check.message): check for check in examined}
    shown = [asdict(check) for check in checks.values()]
    return {"ok": all(check.ok for check in checks.values()), "checks": shown}
