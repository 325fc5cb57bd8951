"""Every act, by its name."""

from collections.abc import Mapping

from annotation.operations.campaign import assignments as works
from annotation.operations.campaign import budget as funding
from annotation.operations.campaign import lifecycle as ending
from annotation.operations.campaign import pause_resume as buying
from annotation.operations.campaign import retry as calls
from annotation.operations.campaign import workers as people
from annotation.operations.campaign.operation import Act

# Done to a campaign as a whole.
LIFE = (*funding.ACTS, *buying.ACTS, *ending.ACTS, *calls.ACTS)
ACTS: Mapping[str, Act] = {act.name: act for act in (*LIFE, *people.ACTS, *works.ACTS)}
