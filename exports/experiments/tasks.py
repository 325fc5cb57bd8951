"""The worker's trainings, scores and experiments: Celery imports this module."""

from annotation.jobs.handlers import register
from exports.experiments.training_requests import KINDS
from exports.experiments.trainings import handler_of

for kind in KINDS:
    register(kind, handler_of(kind))
