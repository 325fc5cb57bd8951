"""The paper's pilot: the same triplets with the answer and without it, drawn, priced and made."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page
from annotation.access.roles import CREATE, visible_campaigns
from annotation.models import Campaign, Pilot
from annotation.operations.pilots import make_pilot, preview_pilot
from annotation.pipeline.setup.create_pilot import MOST_TRIPLETS, NAME, TRIPLETS
from annotation.web.base.guards import dashboard_page, refuse
from annotation.web.base.layout import page
from core.errors import UserError

NOT_YOURS = (
    "A pilot makes two campaigns, which your account may not: an administrator can give it that "
    "right."
)
SHOWN = 50


class PilotForm(forms.Form):
    source = forms.ModelChoiceField(
        queryset=Campaign.objects.none(),
        to_field_name="name",
        label="Triplets of the campaign",
        empty_label=None,
        help_text="its candidates are retrieved, or labelled already; it stays as it is",
    )
    name = forms.RegexField(
        regex=rf"^{NAME.pattern}\Z",
        max_length=50,
        label="Name of the pilot",
        help_text="letters, digits, - and _; its conditions are NAME-with and NAME-without",
    )
    triplets = forms.IntegerField(
        initial=TRIPLETS,
        min_value=1,
        max_value=MOST_TRIPLETS,
        help_text="drawn at random; the paper took 200",
    )
    seed = forms.IntegerField(
        initial=0, min_value=0, max_value=2**31, help_text="random seed for sampling and packing"
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        source = cast("forms.ModelChoiceField[Campaign]", self.fields["source"])
        free = {"pilot_with_the_answer": None, "pilot_without_the_answer": None}
        source.queryset = visible_campaigns(request.user).filter(**free).order_by("-pk")


@require_http_methods(["GET", "HEAD", "POST"])
@dashboard_page
def pilots(request: HttpRequest) -> HttpResponse:
    """Pilots of which the reader sees both conditions; the price first, then the second click."""
    if request.method != "POST":
        asked = {"source": request.GET.get("source")}
        return _render(request, PilotForm(request=request, initial=asked))
    if not request.user.has_perm(CREATE):
        return refuse(request, 403, "Your role does not allow it", NOT_YOURS)
    form = PilotForm(request.POST, request=request)
    if not form.is_valid():
        return _render(request, form, status=422)
    chosen = form.cleaned_data
    source, name, triplets = chosen["source"], chosen["name"], chosen["triplets"]
    if "agreed" not in request.POST:
        sentences = preview_pilot(source, name, triplets=triplets)
        return _render(request, form, sentences=sentences)
    try:
        by = by_page(cast(User, request.user))
        pilot = make_pilot(by, source, name, triplets=triplets, seed=chosen["seed"])
    except UserError as error:
        return _render(request, form, fault=str(error), status=422)
    messages.success(request, f"Pilot {pilot} is made: pack and publish both of its conditions.")
    return redirect("pilot", pilot.name)


def _render(
    request: HttpRequest,
    form: PilotForm,
    *,
    sentences: list[str] | None = None,
    fault: str = "",
    status: int = 200,
) -> HttpResponse:
    seen = visible_campaigns(request.user).values("pk")
    found = Pilot.objects.filter(shown__in=seen, hidden__in=seen)
    found = found.select_related("shown__query_set__drawn_from", "hidden").order_by("-pk")
    context = {
        "pilots": found[:SHOWN],
        "form": form,
        "sentences": sentences,
        "fault": fault,
        "may_create": request.user.has_perm(CREATE),
    }
    return page(request, "annotation/studies/pilots.html", context, title="Pilots", status=status)
