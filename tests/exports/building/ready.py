"""Imported first by the process from which victims are forked."""

import django

django.setup()
