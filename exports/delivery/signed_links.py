"""Signed links to a release's files: its holder can fetch the file, until it expires."""

import time
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.core.signing import BadSignature, Signer
from django.urls import reverse

from annotation.access.roles import DOWNLOAD
from exports.models import ReleaseFile

SALT = "exports.delivery.signed_links"
FRESH = "open the release's page and get a new link there."
EXPIRED = f"This link has expired: {FRESH}"
CHANGED = f"This is no link of this site, or a part of it is missing: {FRESH}"
LOST_RIGHT = (
    "The account that this link was made for may not download releases any more: ask an"
    " administrator for that right."
)
FOREIGN = f"This link was made for somebody else's account than the one signed in here: {FRESH}"


class LinkError(Exception):
    """Why a link opens nothing, in a sentence for the person who followed it."""


@dataclass(frozen=True)
class Link:
    """What a token stands for."""

    file: ReleaseFile
    user: User
    expires: int  # in seconds since 1970

    @property
    def seconds_left(self) -> int:
        return max(1, self.expires - int(time.time()))


def name_of(file: ReleaseFile) -> str:
    """What a fetched file is called."""
    return file.path.rpartition("/")[2]


def link(file: ReleaseFile, user: User) -> str:
    """The path at this site."""
    expires = int(time.time()) + settings.LINK_SECONDS
    token = _signer().sign_object([file.pk, user.pk, expires])
    return reverse("release-file", args=[token, name_of(file)])


def follow(token: str, filename: str) -> Link:
    """Raises LinkError unless the link is ours, in time, and its user may still download."""
    try:
        file_pk, user_pk, expires = _signer().unsign_object(token)
    except BadSignature as error:
        raise LinkError(CHANGED) from error
    if expires <= time.time():
        raise LinkError(EXPIRED)
    file = ReleaseFile.objects.select_related("release__campaign").filter(pk=file_pk).first()
    if file is None or name_of(file) != filename:
        raise LinkError(CHANGED)
    user = User.objects.filter(pk=user_pk).first()
    # An inactive account has no right at all.
    if user is None or not user.has_perm(DOWNLOAD, file.release.campaign):
        raise LinkError(LOST_RIGHT)
    return Link(file, user, expires)


def _signer() -> Signer:
    return Signer(salt=SALT)
