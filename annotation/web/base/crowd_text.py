"""In templates: a sentence in the words of a campaign's crowd, `{{ "HITs"|said:crowd }}`."""

from django.forms import BaseForm
from django.template import Library

from annotation.protocol.policy.crowds import CrowdTraits

register = Library()


def say_form(form: BaseForm, crowd: CrowdTraits) -> None:
    for field in form:
        field.label = crowd.said(str(field.label))
        field.help_text = crowd.said(str(field.help_text))


@register.filter
def said(text: str, crowd: CrowdTraits) -> str:
    return crowd.said(text)
