"""Every act, by its name."""

from collections.abc import Mapping

from annotation.acts import buying, calls, ending, funding, people, works
from annotation.acts.base import Act

# Done to a campaign as a whole.
LIFE = (*funding.ACTS, *buying.ACTS, *ending.ACTS, *calls.ACTS)
ACTS: Mapping[str, Act] = {act.name: act for act in (*LIFE, *people.ACTS, *works.ACTS)}
