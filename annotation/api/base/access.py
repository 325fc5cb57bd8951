"""Who may do what in the API: as the pages let them, by the same roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from annotation.access.roles import (
    DOWNLOAD,
    ROLE_TOO_SMALL,
    VIEW,
    may_anywhere,
    may_enter,
    visible_campaigns,
)
from annotation.models import Campaign
from core.log_context import also_about

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which loads this module

NO_PART = "Your account has no role in any campaign: ask an owner of one."


class MayEnter(BasePermission):
    """For people to whom the dashboard is open."""

    message = NO_PART

    def has_permission(self, request: Request, view: APIView) -> bool:
        return may_enter(request.user)


class MayDownload(BasePermission):
    """For people who may download the releases of any campaign."""

    message = NO_PART

    def has_permission(self, request: Request, view: APIView) -> bool:
        return may_enter(request.user) or may_anywhere(request.user, DOWNLOAD)


def user_of(request: Request) -> User:
    """Behind a permission that asks for somebody who is signed in."""
    return cast(User, request.user)


def campaign_of(request: Request, name: str, permission: str = VIEW) -> Campaign:
    """One that the reader may not even see does not exist for them."""
    seen = visible_campaigns(request.user).select_related("query_set", "account")
    campaign = seen.filter(name=name).first()
    if campaign is None:
        raise Http404
    also_about(campaign=campaign)
    require(request, permission, campaign)
    return campaign


def require(
    request: Request | HttpRequest, permission: str, campaign: Campaign | None = None
) -> None:
    if request.user.has_perm(permission, campaign):
        return
    if campaign is None:
        raise PermissionDenied("Your account may not do this: an administrator can change that.")
    raise PermissionDenied(ROLE_TOO_SMALL.format(campaign))
