"""Who may do what with the q/a database: Django's permissions on its records."""

from collections.abc import Callable
from functools import wraps
from typing import cast

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache

from core.frame import notice

View = Callable[..., HttpResponseBase]

VIEW = "retrieval.view_qapair"
IMPORT = "retrieval.add_qapair"
WITHDRAW = "retrieval.change_qapair"
BUILD = "retrieval.add_indexversion"
TRAIN = "retrieval.add_trainedmodel"
NAMES = {"look": VIEW, "import": IMPORT, "withdraw": WITHDRAW, "build": BUILD, "train": TRAIN}
REFUSED = (
    "Your account can't do this with the q/a database. Ask an administrator for the permission"
    " {permission}."
)


def may_view_corpus(user: User | AnonymousUser) -> bool:
    """The staff, and people who have a part in the database."""
    return user.is_active and (user.is_staff or any(map(user.has_perm, NAMES.values())))


def may(user: User | AnonymousUser) -> dict[str, bool]:
    """For templates: `may.withdraw`."""
    return {name: user.has_perm(permission) for name, permission in NAMES.items()}


def database_page(permission: str = VIEW) -> Callable[[View], View]:
    """For people who have the permission; to look, any of the others will do as well."""

    def decorated(view: View) -> View:
        @never_cache
        @wraps(view)
        def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            user = request.user
            if not user.is_authenticated:
                return _to_sign_in(request)
            if not (may_view_corpus(user) if permission == VIEW else user.has_perm(permission)):
                return _refused(request, permission)
            return view(request, *args, **kwargs)

        return cast(View, guarded)

    return decorated


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    if request.method in {"GET", "HEAD"}:
        return redirect_to_login(request.get_full_path())
    return redirect(settings.LOGIN_URL)


def _refused(request: HttpRequest, permission: str) -> HttpResponse:
    sentence = REFUSED.format(permission=permission)
    return notice(request, sentence, title="Not allowed", status=403)
