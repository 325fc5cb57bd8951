"""What this process counts for Prometheus.

The processes keep their counts in files in PROMETHEUS_MULTIPROC_DIR, which the settings name, under
a name that holds in containers too, and the process that is asked adds them up.
"""

import os
import socket
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, values


def _process() -> str:
    """Each container counts its processes from 1."""
    return f"{socket.gethostname()}-{os.getpid()}".replace("_", "-")


Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).mkdir(parents=True, exist_ok=True)
# Before the first count is made.
values.ValueClass = values.MultiProcessValue(_process)  # type: ignore[no-untyped-call]

OWN = CollectorRegistry()
CROWD_CALLS = Counter(
    "quorum_crowd_calls",
    "Calls to the crowd that messages asked for",
    ["kind", "outcome"],  # done, refused (for good), throttled, failed (tried again later)
    registry=OWN,
)
REQUESTS = Histogram(
    "quorum_request_seconds",
    "Time until the site's answer, by page",
    ["view", "method", "status"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=OWN,
)
