"""Hypothesis settings for rules: the same examples in every run, and no race with a slow disk."""

from hypothesis import settings

from tests.support.examples import examples

steady = settings(max_examples=examples(60), deadline=None, derandomize=True, database=None)
