"""Who may see the releases."""

from collections.abc import Callable
from functools import wraps
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.cache import never_cache

from annotation.views.guards import permitted, refuse, to_sign_in
from exports.links import DOWNLOAD

View = Callable[..., HttpResponseBase]
BUILD = "exports.add_build"


def releases_page(view: View) -> View:
    """For whoever may download releases, of the staff or not."""

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return to_sign_in(request)
        if not permitted(request, DOWNLOAD):
            return lacks(request, DOWNLOAD)
        return view(request, *args, **kwargs)

    return cast(View, guarded)


def lacks(request: HttpRequest, permission: str) -> HttpResponse:
    sentence = (
        f"Your account lacks the permission {permission}: an administrator can give it to you"
        " under Records."
    )
    return refuse(request, 403, "Not open to you", sentence)
