"""The site's own settings, with the bare views in the place of its pages."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "benchmarks.judging.bare"
