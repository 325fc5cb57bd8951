"""Imported first, it lets a benchmark import what stands on Django: `import benchmarks.ready`."""

import os

import django
from django.apps import apps

from benchmarks import folders

if not apps.ready:  # in a test all is set already
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # Nothing that a benchmark writes lands in the data folder of the project.
    os.environ["QUORUM_DATA"] = str(folders.WORK / "retrieval")
    django.setup()
