"""People work and the campaign collects, in turns, until no vote is missing or nobody is left."""

from collections.abc import Callable

from annotation.crowd.port import Crowd
from annotation.crowd.simulated.workers import Simulation
from annotation.models import Campaign
from annotation.pipeline.advance import advance
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.publishing.publish import publish
from annotation.protocol.estimates.cost import estimate_cost

# Between two passes so much of the work is submitted: workers who fail are found in time.
TURNS = 20
LEAST_A_TURN = 5

FINISHED = "finished"
BUDGET = "budget"
NOBODY = "nobody"

Report = Callable[[str, int, int | None], object]


def play(campaign: Campaign, crowd: Crowd, simulation: Simulation, *, report: Report) -> str:
    """How it ended; `report` is given the stage, units just done and their expected number."""
    packed = pack_hits(campaign)
    report("publishing HITs", packed.hits, packed.hits)
    publish(campaign, crowd)
    deliver(campaign, crowd)
    mode = estimate_cost(packed.triplets, campaign.policy)
    expected = (mode.extend if campaign.policy.tie_mode == "extend" else mode.repack).assignments
    turn, done = max(LEAST_A_TURN, expected // TURNS), 0
    while True:
        worked = simulation.run(
            done + turn, progress=lambda count: report("people judge", count, expected)
        )
        advanced = advance(campaign, crowd)
        if advanced.finished:
            return FINISHED
        idle = worked.assignments == done
        if idle and not (advanced.new or advanced.sent or advanced.assignments_requested):
            campaign.refresh_from_db()
            return BUDGET if campaign.state == Campaign.State.CAPPED else NOBODY
        done = worked.assignments
