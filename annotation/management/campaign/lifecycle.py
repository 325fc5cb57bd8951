"""`manage.py campaign`: its budget, and pause, resume, expire, extend, cancel, retry."""

from django.core.management.base import CommandParser

from annotation.management.campaign.base import no_arguments, step_of, yes_argument
from annotation.operations.campaign.registry import LIFE


def _dollars_argument(parser: CommandParser) -> None:
    parser.add_argument("dollars", metavar="DOLLARS", help="what it may cost at most, in all")


def _days_argument(parser: CommandParser) -> None:
    parser.add_argument("--days", type=int, required=True, metavar="N", help="from now on")
    yes_argument(parser)


# The budget is what was typed, and a call is made once: neither asks back.
_ARGUMENTS = {"budget": _dollars_argument, "extend": _days_argument, "retry": no_arguments}
STEPS = {act.name: step_of(act, _ARGUMENTS.get(act.name, yes_argument)) for act in LIFE}
