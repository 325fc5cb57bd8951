"""The site's own settings and addresses, with a page more: the frame with nothing in it."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "benchmarks.dashboard.empty"
