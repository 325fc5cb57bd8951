"""`manage.py campaign admit`: a worker let in without the practice round."""

from django.core.management.base import CommandParser
from django.db import transaction

from annotation.management.steps import Options, Result, Step, crowd_of, send, worker_of
from annotation.models import Campaign
from annotation.pipeline.practice import admit, withdraw_refused
from retrieval.cli import QuorumCommand
from retrieval.errors import UserError


def _admit(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    crowd, worker = crowd_of(campaign), worker_of(campaign, options["worker"])
    with transaction.atomic():
        admit(campaign, worker)
        if crowd is not None and crowd.is_local:  # it knows at once whether there is such a member
            crowd.grant(worker, qualification_id=campaign.practice_id, value=100)
    told = send(command, campaign, crowd)
    if why := withdraw_refused(campaign, worker):
        raise UserError(f"{worker} was not let in: {why}")
    return {"campaign": campaign.name, "worker": worker, **told}


def _worker_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "worker", metavar="WORKER", help="as the crowd names them; in-house the user name will do"
    )


STEPS = {
    "admit": Step(
        "let a worker in who has not passed the practice round", _admit, _worker_argument
    ),
}
