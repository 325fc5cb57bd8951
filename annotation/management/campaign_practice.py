"""`manage.py campaign admit`: a worker let in without the practice round."""

from django.core.management.base import CommandParser

from annotation.management.steps import Options, Result, Step, crowd_of, send
from annotation.models import Campaign
from annotation.pipeline.practice import admit
from retrieval.cli import QuorumCommand


def _admit(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    crowd = crowd_of(campaign)
    admit(campaign, options["worker"])
    told = send(command, campaign, crowd)
    return {"campaign": campaign.name, "worker": options["worker"], **told}


def _worker_argument(parser: CommandParser) -> None:
    parser.add_argument("worker", metavar="WORKER", help="as the crowd names them")


STEPS = {
    "admit": Step(
        "let a worker in who has not passed the practice round", _admit, _worker_argument
    ),
}
