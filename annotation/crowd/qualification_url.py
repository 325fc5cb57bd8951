"""The address of a campaign's qualification test: no list leads to it, and none can be guessed."""

from django.conf import settings
from django.core.signing import Signer
from django.urls import reverse

from annotation.models import Campaign


def qualification_test_url(campaign: Campaign) -> str:
    path = reverse("qualification-test", args=[_signer().sign(campaign.uid.hex)])
    return f"{settings.PUBLIC_URL}{path}"


def read_qualification_test_url(signed: str) -> str:
    """The hexadecimal uid of the campaign. Raises django.core.signing.BadSignature."""
    return _signer().unsign(signed)


def _signer() -> Signer:
    return Signer(salt="qualification-test")
