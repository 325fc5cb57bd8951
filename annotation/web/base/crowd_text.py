"""In templates: a sentence in the words of a campaign's crowd, `{{ "HITs"|said:crowd }}`."""

from django.template import Library

from annotation.protocol.policy.crowds import CrowdTraits

register = Library()


@register.filter
def said(text: str, crowd: CrowdTraits) -> str:
    return crowd.said(text)
