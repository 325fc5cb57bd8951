"""Imported first, it lets a benchmark import what stands on Django: `import benchmarks.ready`."""

import os

import django

from demo.processes import ROOT

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Nothing that a benchmark writes lands in the data folder of the project.
os.environ["QUORUM_DATA"] = str(ROOT / "var" / "bench" / "retrieval")
django.setup()
