"""A requester of the site's Turk, with boto3 as it comes."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

import boto3
from botocore.config import Config

from annotation.crowd.turk.models import RequesterAccount

ONCE = Config(retries={"total_max_attempts": 1})


def client_of(
    account: RequesterAccount, site: str, path: str = "/turk/sandbox/", *, secret: str = ""
) -> Any:
    return boto3.client(
        "mturk",
        endpoint_url=site + path,
        aws_access_key_id=account.access_key_id,
        aws_secret_access_key=secret or account.secret_access_key,
        region_name="us-east-1",
        config=ONCE,
    )


QUESTION = (
    '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/'
    '2006-07-14/ExternalQuestion.xsd"><ExternalURL>{url}</ExternalURL>'
    "<FrameHeight>400</FrameHeight></ExternalQuestion>"
)


def post_hit(
    client: Any,
    *,
    reward: str = "0.15",
    title: str = "Name the colour",
    url: str = "https://example.org/q",
    requirements: Sequence[Mapping[str, Any]] = (),
    **more: Any,
) -> str:
    hit_type = client.create_hit_type(
        Title=title,
        Description="Say what you see.",
        Keywords="colour",
        Reward=reward,
        AssignmentDurationInSeconds=600,
        QualificationRequirements=requirements,
    )
    hit = client.create_hit_with_hit_type(
        HITTypeId=hit_type["HITTypeId"],
        LifetimeInSeconds=3600,
        **{"Question": QUESTION.format(url=escape(url)), **more},
    )
    hit_id: str = hit["HIT"]["HITId"]
    return hit_id
