"""The worker's builds of releases: Celery imports this module, and the queue of jobs runs them."""

from annotation.jobs.handlers import register
from exports.building.queue import build_release
from exports.models import Build

register(Build.KIND, build_release)
