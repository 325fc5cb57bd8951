"""Wiring. `celery --app config` finds the app here."""

from config.celery import app as celery

__all__ = ["celery"]
