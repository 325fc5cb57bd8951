"""An empty signed-in page: the dashboard's frame and guard, around nothing."""

from django.http import HttpRequest, HttpResponse
from django.urls import path

from annotation.web.base.guards import dashboard_page
from annotation.web.base.layout import page
from config.urls import handler400, handler500
from config.urls import urlpatterns as site

__all__ = ["handler400", "handler500", "urlpatterns"]

EMPTY = "/empty"


@dashboard_page
def empty(request: HttpRequest) -> HttpResponse:
    return page(request, "annotation/base/dashboard.html", {}, title="Empty")


urlpatterns = [path(EMPTY[1:], empty), *site]
