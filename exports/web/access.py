"""Who may see the releases."""

from collections.abc import Callable
from functools import wraps
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache

from annotation.access.roles import (
    BUILD,
    DOWNLOAD,
    campaigns_where,
    may_anywhere,
    visible_campaigns,
)
from annotation.models import Campaign
from annotation.web.base.guards import permitted, refuse, to_sign_in

View = Callable[..., HttpResponseBase]


def releases_page(view: View) -> View:
    """For people who may download releases of any campaign, of the staff or not."""

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return to_sign_in(request)
        if not may_anywhere(request.user, DOWNLOAD):
            return lacks(request, DOWNLOAD)
        return view(request, *args, **kwargs)

    return cast(View, guarded)


def campaign_releases_page(view: View) -> View:
    """For people who may download this campaign's; the view gets the campaign in place of its name.

    A campaign that the reader may neither see nor download from does not exist for them.
    """

    @releases_page
    @wraps(view)
    def guarded(request: HttpRequest, name: str, **kwargs: object) -> HttpResponseBase:
        campaign = campaigns_where(request.user, DOWNLOAD).filter(name=name).first()
        if campaign is None:
            get_object_or_404(visible_campaigns(request.user), name=name)
            return lacks(request, DOWNLOAD)
        return view(request, campaign, **kwargs)

    return guarded


def may_build(request: HttpRequest, campaign: Campaign) -> bool:
    return permitted(request, BUILD, campaign)


def lacks(request: HttpRequest, permission: str) -> HttpResponse:
    sentence = (
        f"Your account lacks the permission {permission}: an administrator can grant it"
        " under Admin, or an owner of the campaign can give you a role that has it."
    )
    return refuse(request, 403, "Not open to you", sentence)
