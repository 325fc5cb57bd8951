"""How many examples Hypothesis tries: few in `make test`, all in `make test-examples`.

Where `tests/conftest.py` loads no profile, as in `make mutants` for the protocol: all.
"""

from hypothesis import settings

settings.register_profile("thorough", max_examples=100, deadline=None)
settings.register_profile("fast", max_examples=20, deadline=None)


def examples(thorough: int) -> int:
    """A number of the thorough profile, cut as the profile of this run cuts it."""
    return max(1, thorough * settings().max_examples // 100)
