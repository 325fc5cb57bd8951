from django.contrib.auth.views import LogoutView
from django.urls import path, re_path, register_converter
from django.urls.converters import StringConverter
from django.views.generic import RedirectView

from annotation.api.turk.requester import requester
from annotation.crowd.inhouse.ids import FORM
from annotation.crowd.turk.stores import Environment
from annotation.monitoring.health import health
from annotation.monitoring.metrics_view import metrics
from annotation.web.account.first_account import first_account
from annotation.web.account.home import home
from annotation.web.account.join import join_page
from annotation.web.account.password_reset import ResetPassword, SetPassword
from annotation.web.account.sign_in import ChangePassword, SignIn
from annotation.web.account.team import change_member, revoke_invitation, team
from annotation.web.annotator.framed_judging import hit_page
from annotation.web.annotator.inhouse_judging import assignment, give_back, renew, take_next
from annotation.web.annotator.qualification import qualification_test
from annotation.web.annotator.task_list import kept, read_instructions, work
from annotation.web.campaigns.instructions import edit_instructions
from annotation.web.experts.adjudicate import adjudicate
from annotation.web.notifications.preferences import (
    confirm_address,
    mail_preferences,
    unsubscribe_page,
)
from annotation.web.panels.events import study_event
from annotation.web.panels.visit import panel_page, visit_page
from annotation.web.turk.qualifications import (
    turk_qualification,
    turk_qualifications,
    turk_test,
)
from annotation.web.turk.work import (
    external_hit_script,
    external_submit,
    html_question_page,
    turk_assignment,
    turk_earnings,
    turk_group,
    turk_hit,
    turk_hits,
    turk_next,
)


class CrowdId(StringConverter):
    regex = FORM


class EnvironmentOfTurk(StringConverter):
    regex = "|".join(Environment)

    def to_python(self, value: str) -> Environment:
        return Environment(value)


class TurkId(StringConverter):
    regex = "[A-Z0-9]{1,64}"


PRODUCTION = {"environment": Environment.PRODUCTION}

register_converter(CrowdId, "id")
register_converter(EnvironmentOfTurk, "environment")
register_converter(TurkId, "turk_id")

urlpatterns = [
    path("", home, name="home"),
    path("health", health, name="health"),
    path("metrics", metrics, name="metrics"),
    path("sign-in", SignIn.as_view(), name="sign-in"),
    path("sign-out", LogoutView.as_view(next_page="home"), name="sign-out"),
    path("password", ChangePassword.as_view(), name="password"),
    path("password/reset", ResetPassword.as_view(), name="password-reset"),
    path("password/set/<str:uidb64>/<str:token>", SetPassword.as_view(), name="password-set"),
    path("first-account/<str:key>", first_account, name="first-account"),
    path("join/<str:code>", join_page, name="join"),
    path("team", team, name="team"),
    path("team/invitations/<int:pk>/revoke", revoke_invitation, name="revoke-invitation"),
    path("team/members/<int:pk>", change_member, name="change-member"),
    path("mails", mail_preferences, name="mail-preferences"),
    path("mails/confirm/<str:token>", confirm_address, name="confirm-address"),
    path("mails/stop/<str:token>", unsubscribe_page, name="unsubscribe"),
    path("work", work, name="work"),
    path("work/kept", kept, name="kept"),
    path("work/next", take_next, name="next"),
    path("work/instructions/<slug:name>", read_instructions, name="read-instructions"),
    path("panels/<slug:crowd>/events", study_event, name="study-event"),
    path("work/visits/<int:pk>", visit_page, name="visit"),
    path("panel/<id:key>", panel_page, name="panel"),
    path("work/<id:assignment_id>", assignment, name="assignment"),
    path("work/<id:assignment_id>/return", give_back, name="return"),
    path("work/<id:assignment_id>/renew", renew, name="renew"),
    # What its address looks like from those of its releases; who may not see it is told there.
    path(
        "campaigns/<slug:name>/", RedirectView.as_view(pattern_name="campaign"), name="campaign-way"
    ),
    path(
        "campaigns/<slug:name>/people",
        RedirectView.as_view(pattern_name="campaign-workers", permanent=True),
        name="people",
    ),
    path("campaigns/<slug:name>/adjudicate", adjudicate, name="adjudicate"),
    path("hit/<str:signed>", hit_page, name="hit"),
    path("qualification/<str:signed>", qualification_test, name="qualification-test"),
    path("campaigns/<slug:name>/instructions", edit_instructions, name="instructions"),
    # A client sends to the address as it was given, whether that ends in a slash or not.
    re_path("^turk/?$", requester, PRODUCTION, name="turk"),
    re_path("^turk/sandbox/?$", requester, {"environment": Environment.SANDBOX}, name="sandbox"),
    path(
        "turk/<environment:environment>/<slug:requester>/mturk/externalSubmit",
        external_submit,
        name="external-submit",
    ),
    path(
        "turk/<environment:environment>/<slug:requester>/question/<turk_id:hit_id>",
        html_question_page,
        name="html-question",
    ),
    path("turk/externalHIT_v1.js", external_hit_script, name="external-hit-script"),
    # The addresses of Amazon's site for workers, which requesters' programs print.
    path("mturk/preview", turk_group, PRODUCTION, name="turk-group"),
    path("mturk/previewandaccept", turk_group, PRODUCTION, name="turk-group"),
    path("projects/<turk_id:group_id>/tasks", turk_group, PRODUCTION, name="turk-group"),
    path(
        "projects/<turk_id:group_id>/tasks/accept_random",
        turk_group,
        PRODUCTION,
        name="turk-group",
    ),
    path(
        "work/turk",
        RedirectView.as_view(pattern_name="turk-hits"),
        PRODUCTION,
        name="turk-site",
    ),
    path("work/turk/<environment:environment>", turk_hits, name="turk-hits"),
    path("work/turk/<environment:environment>/earnings", turk_earnings, name="turk-earnings"),
    path(
        "work/turk/<environment:environment>/<slug:requester>/hits/<turk_id:hit_id>",
        turk_hit,
        name="turk-hit",
    ),
    path(
        "work/turk/<environment:environment>/<slug:requester>/hits/<turk_id:hit_id>/next",
        turk_next,
        name="turk-next",
    ),
    path(
        "work/turk/<environment:environment>/<slug:requester>/assignments/<turk_id:assignment_id>",
        turk_assignment,
        name="turk-assignment",
    ),
    path(
        "work/turk/<environment:environment>/qualifications",
        turk_qualifications,
        name="turk-qualifications",
    ),
    path(
        "work/turk/<environment:environment>/<slug:requester>/qualifications/<turk_id:type_id>",
        turk_qualification,
        name="turk-qualification",
    ),
    path(
        "work/turk/<environment:environment>/<slug:requester>/tests/<turk_id:request_id>",
        turk_test,
        name="turk-test",
    ),
]
