"""The API's description, and the page that shows it."""

from typing import ClassVar

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from core.frame import DASHBOARD, DASHBOARD_POLICY, frame_of

# Swagger UI writes its styles into the page and its pictures into its styles.
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)


class Description(SpectacularJSONAPIView):
    """For everybody: it holds nothing of the site's data, so each process makes it once."""

    made: ClassVar[str | bytes] = b""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: object, **kwargs: object) -> HttpResponseBase:
        renderer = request.accepted_renderer
        if not self.made:
            answer = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
            Description.made = renderer.render(answer.data)
        return HttpResponse(self.made, content_type=renderer.media_type)


class Page(SpectacularSwaggerSplitView):
    url_name = "api-schema"
    template_name = "annotation/base/api_docs.html"

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: object, **kwargs: object) -> Response:
        response: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        frame = frame_of(request._request)
        response.data = {**response.data, **frame, "title": "API"}
        inside = frame["frame"] == DASHBOARD
        response["Content-Security-Policy"] = DASHBOARD_POLICY if inside else POLICY
        return response
