"""In templates: a sentence in the words of a campaign's crowd, `{{ "HITs"|said:crowd }}`."""

import re

from django.forms import BaseForm
from django.template import Library

from annotation.crowd.turk.workers import Group
from annotation.models import Campaign
from annotation.pipeline.ledger.pay import pay_an_hour
from annotation.protocol.policy.crowds import CrowdTraits
from core.text.money import money

register = Library()
register.filter("money", money)


@register.filter
def an_hour(group: Group) -> str:
    return pay_an_hour(group.cents, measured=group.took, limit=group.minutes * 60)


def say_form(form: BaseForm, crowd: CrowdTraits) -> None:
    for field in form:
        field.label = crowd.said(str(field.label))
        field.help_text = crowd.said(str(field.help_text))


def said_of(campaign: Campaign, text: str) -> str:
    """In the word of its crowd; its own name stays as it is."""
    said = campaign.policy.crowd_traits.said
    parts = re.split(rf"(?<![\w-]){re.escape(campaign.name)}(?![\w-])", text)
    return campaign.name.join(map(said, parts))


@register.filter
def said(text: str, crowd: CrowdTraits) -> str:
    return crowd.said(text)
