"""Who may view the q/a database: the same people as on its pages."""

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from retrieval.web.access import may_view_corpus


class MayViewCorpus(BasePermission):
    message = "Your account can't view the q/a database. Ask an administrator for access."

    def has_permission(self, request: Request, view: APIView) -> bool:
        return may_view_corpus(request.user)
