"""`python -m annotation.simulation SITE CROWD`: the inside of a dry run, which `run` starts."""

import sys

import django

django.setup()

from annotation.simulation.world import main  # noqa: E402 - models want the settings first

main(*map(int, sys.argv[1:]))
