"""What everybody gets at every address: a row for each kind, with its addresses."""

from collections.abc import Mapping, Sequence

from tests.annotation.web.walk.api_addresses import OF_THE_API
from tests.annotation.web.walk.walk import Rule


def site(who: str, gets: int) -> Rule:
    return Rule(who, gets)


def frame(who: str, gets: int) -> Rule:
    """Django's own pages send people who may not to the sign-in."""
    return Rule(who, gets, refused=302)


def all_get(status: int) -> Rule:
    return Rule("all", status)


NO = all_get(405)
# Who is a member is led to the work, who has a part to the campaigns.
JOINED, JOINS = (
    Rule("members", 302, refused=200, stranger=200),
    Rule("signed in", 302, stranger=422),
)
HOME = Rule("view", 302, refused=200, stranger=200)
# What a GET gets, what an empty POST gets, and where: objects are the demo's, or not there.
# fmt: off
TABLE: Sequence[tuple[Rule, Rule, str]] = [
    (all_get(302), all_get(302), """
        admin/login/
        admin/password_change/
        admin/password_change/done/
    """),
    (NO, site("root", 422), """
        admin/database/upload
        admin/database/index
    """),
    (NO, site("staff", 302), """
        admin/database/count
    """),
    (site("view", 200), NO, """
        admin/log/
        admin/jobs/<int:pk>
        admin/campaigns/
        admin/campaigns/<slug:name>/
        admin/campaigns/<slug:name>/live
        admin/campaigns/<slug:name>/charts/<slug:key>.csv
        admin/campaigns/<slug:name>/review/
        admin/campaigns/<slug:name>/triplets/<int:pk>
        admin/campaigns/<slug:name>/controls/
        admin/controls/
        admin/controls/<int:pk>
        admin/pilots/
    """),
    (site("see votes", 200), NO, """
        admin/campaigns/<slug:name>/review/error
        admin/campaigns/<slug:name>/log/
        admin/campaigns/<slug:name>/workers/
        admin/campaigns/<slug:name>/workers/times.csv
        admin/campaigns/<slug:name>/workers/reports
        admin/campaigns/<slug:name>/workers/<int:pk>
        admin/campaigns/<slug:name>/workers/<int:pk>/exclusion-impact
        admin/campaigns/<slug:name>/workers/<int:pk>/controls.csv
        admin/campaigns/<slug:name>/triplets/
        admin/campaigns/<slug:name>/hits/
        admin/campaigns/<slug:name>/hits/<int:pk>
        admin/campaigns/<slug:name>/assignments/
    """),
    (site("staff", 204), NO, """
        admin/database/search/warm
    """),
    (site("staff", 200), NO, """
        admin/lockouts/
        admin/history/
        admin/history/assignments/
        admin/database/
        admin/database/search
        admin/database/ask
        admin/database/pairs
        admin/database/models
    """),
    (NO, site("root", 302), """
        admin/database/sample
        admin/lockouts/<slug:digest>/end
        team/invitations/<int:pk>/revoke
        team/members/<int:pk>
    """),
    (NO, site("signed in", 302), """
        admin/views/save
    """),
    (NO, site("signed in", 404), """
        admin/views/<int:pk>/delete
    """),
    (site("own", 200), site("own", 422), """
        admin/campaigns/<slug:name>/roles/
    """),
    (site("see votes", 200), site("root", 422), """
        admin/campaigns/<slug:name>/plan
    """),
    (site("root", 200), site("root", 422), """
        admin/campaigns/new
    """),
    (site("view", 200), site("manage", 409), """
        admin/campaigns/<slug:name>/milestones
    """),
    (site("manage", 200), site("manage", 200), """
        admin/campaigns/<slug:name>/publish
        admin/campaigns/<slug:name>/operations/<slug:operation>
    """),
    (site("manage", 200), site("manage", 409), """
        admin/campaigns/<slug:name>/reconcile
    """),
    (NO, site("view", 302), """
        admin/campaigns/<slug:name>/count
    """),
    (site("view", 404), NO, """
        admin/pilots/<slug:name>/
        admin/campaigns/<slug:name>/controls/<int:pk>
    """),
    (site("view", 404), site("view", 404), """
        admin/operations/<slug:operation>
    """),
    (NO, site("manage", 302), """
        admin/campaigns/<slug:name>/control-candidates/
    """),
    (site("manage", 200), site("manage", 422), """
        admin/campaigns/<slug:name>/dry-run
        admin/campaigns/<slug:name>/control-drafts
        admin/campaigns/<slug:name>/review/import
    """),
    (site("root", 200), site("root", 422), """
        admin/controls/import
    """),
    (site("root", 200), NO, """
        admin/database/import
        admin/events/
        admin/events/<int:pk>
        admin/turk/
    """),
    (NO, site("root", 404), """
        admin/turk/<slug:requester>/change
    """),
    (site("root", 404), NO, """
        admin/turk/<slug:requester>/payouts/<int:number>.csv
    """),
    (site("root", 200), site("root", 422), """
        admin/webhooks/
    """),
    (site("staff", 200), site("root", 422), """
        admin/database/trainings
    """),
    (NO, site("root", 404), """
        admin/database/trainings/<int:pk>/cancel
        admin/database/trainings/<int:pk>/resume
    """),
    (NO, site("root", 200), """
        admin/webhooks/<int:pk>/rotate
    """),
    (NO, site("root", 302), """
        admin/webhooks/<int:pk>/enable
        admin/webhooks/<int:pk>/disable
        admin/events/deliveries/<int:pk>/resend
    """),
    (site("staff", 404), NO, """
        admin/database/models/<str:name>
        admin/database/trainings/<int:pk>
        admin/database/trainings/<int:pk>/answers.jsonl
        admin/database/trainings/<int:pk>/<slug:plot>/<slug:theme>.svg
        admin/database/imports/<int:pk>
        admin/database/imports/<int:pk>/<int:number>/rejected.csv
        admin/database/pairs/<int:pk>
        admin/history/workers/<int:pk>
        admin/history/assignments/<int:pk>
    """),
    (frame("view", 200), frame("view", 200), """
        admin/search/
        admin/
    """),
    (frame("view", 405), frame("view", 200), """
        admin/logout/
    """),
    (frame("view", 200), frame("view", 405), """
        admin/jsi18n/
    """),
    (frame("view", 403), frame("view", 405), """
        admin/autocomplete/
    """),
    (frame("view", 404), frame("view", 404), """
        admin/r/<path:content_type_id>/<path:object_id>/
        admin/^(?P<app_label>retrieval|auth|annotation|knox|inhouse|exports)/$
        admin/(?P<url>.*)$
    """),
    (all_get(200), NO, """
        api/v1/schema
        api/
        ^api/
        health
        metrics
    """),
    (HOME, NO, """
        (home)
    """),
    (all_get(200), all_get(200), """
        sign-in
    """),
    (NO, all_get(302), """
        sign-out
    """),
    (all_get(302), all_get(302), """
        work/turk
    """),
    (all_get(200), all_get(200), """
        password/reset
        password/set/<str:uidb64>/<str:token>
    """),
    (site("signed in", 200), site("signed in", 200), """
        mails
    """),
    (all_get(404), all_get(404), """
        first-account/<str:key>
        mails/confirm/<str:token>
        mails/stop/<str:token>
    """),
    (site("signed in", 200), site("signed in", 200), """
        password
    """),
    (JOINED, JOINS, """
        join/<str:code>
    """),
    (site("staff", 200), site("root", 422), """
        team
    """),
    (site("members", 200), NO, """
        work
        work/turk/<environment:environment>
        work/turk/<environment:environment>/earnings
        work/turk/<environment:environment>/qualifications
    """),
    (site("members", 404), site("members", 404), """
        work/turk/<environment:environment>/<slug:requester>/hits/<turk_id:hit_id>
        work/turk/<environment:environment>/<slug:requester>/assignments/<turk_id:assignment_id>
        work/turk/<environment:environment>/<slug:requester>/qualifications/<turk_id:type_id>
        work/turk/<environment:environment>/<slug:requester>/tests/<turk_id:request_id>
    """),
    (site("members", 404), NO, """
        mturk/preview
        mturk/previewandaccept
        projects/<turk_id:group_id>/tasks
        projects/<turk_id:group_id>/tasks/accept_random
        work/turk/<environment:environment>/<slug:requester>/hits/<turk_id:hit_id>/next
    """),
    (NO, all_get(400), """
        ^turk/?$
        ^turk/sandbox/?$
    """),
    (all_get(404), NO, """
        turk/<environment:environment>/<slug:requester>/question/<turk_id:hit_id>
    """),
    (all_get(200), NO, """
        turk/externalHIT_v1.js
    """),
    (NO, all_get(404), """
        turk/<environment:environment>/<slug:requester>/mturk/externalSubmit
    """),
    (all_get(404), all_get(404), """
        panel/<id:key>
    """),
    (NO, all_get(403), """
        panels/<slug:crowd>/events
    """),
    (site("members", 404), site("members", 404), """
        work/visits/<int:pk>
    """),
    (site("manage", 404), NO, """
        admin/campaigns/<slug:name>/panels/
    """),
    (site("manage", 404), site("manage", 404), """
        admin/campaigns/<slug:name>/panels/<slug:key>.csv
    """),
    (NO, site("members", 303), """
        work/next
    """),
    (site("members", 404), NO, """
        work/instructions/<slug:name>
    """),
    (site("members", 200), NO, """
        work/kept
    """),
    (site("members", 404), site("members", 404), """
        work/<id:assignment_id>
    """),
    (NO, site("members", 404), """
        work/<id:assignment_id>/return
        work/<id:assignment_id>/renew
    """),
    (all_get(302), all_get(302), """
        campaigns/<slug:name>/
    """),
    (all_get(301), all_get(301), """
        campaigns/<slug:name>/people
    """),
    (site("adjudicate", 200), site("adjudicate", 404), """
        campaigns/<slug:name>/adjudicate
    """),
    (all_get(404), NO, """
        hit/<str:signed>
    """),
    (all_get(404), all_get(404), """
        qualification/<str:signed>
    """),
    (site("view", 200), site("manage", 422), """
        campaigns/<slug:name>/instructions
    """),
    (site("download", 200), NO, """
        releases
        campaigns/<slug:name>/releases
    """),
    (all_get(403), NO, """
        releases/<str:token>/<str:filename>
    """),
    (NO, site("manage", 422), """
        campaigns/<slug:name>/releases/build
    """),
    (site("download", 404), NO, """
        campaigns/<slug:name>/releases/builds/<int:pk>
        campaigns/<slug:name>/releases/<int:number>
        campaigns/<slug:name>/releases/<int:number>/plots/<slug:plot>.svg
    """),
]
# fmt: on

ROWS: Mapping[str, tuple[Rule, Rule]] = {
    "" if route == "(home)" else route: (get, post)
    for get, post, words in (*TABLE, *OF_THE_API)
    for route in words.split()
}
