from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from annotation.api.base.docs_page import Description, Page
from core.rest.problems import unknown

urlpatterns = [
    # One door: the other one would let passwords be tried without end.
    path("admin/login/", RedirectView.as_view(pattern_name="sign-in", query_string=True)),
    # Nor another way to a new password, which the log would not know of.
    path("admin/password_change/", RedirectView.as_view(pattern_name="password")),
    path("admin/password_change/done/", RedirectView.as_view(pattern_name="password")),
    path("admin/", include("annotation.web.urls")),
    path("admin/database/", include("retrieval.web.urls")),
    path("admin/database/", include("exports.web.trainings")),
    path("admin/", admin.site.urls),
    path("api/v1/", include("retrieval.api.urls")),
    path("api/v1/", include("annotation.api.urls")),
    path("api/v1/", include("exports.api.urls")),
    path("api/v1/schema", Description.as_view(), name="api-schema"),
    path("api/", Page.as_view(), name="api"),
    re_path("^api/", unknown),
    path("", include("annotation.urls")),
    path("", include("exports.urls")),
]
handler400 = "core.rest.problems.bad_request"
handler403 = "annotation.web.base.guards.forbidden"
handler404 = "annotation.web.base.guards.not_found"
handler500 = "core.rest.problems.server_error"
