"""What the pages do, programs can do: each page beside the operations that offer the same."""

from collections.abc import Mapping

from tests.annotation.api.whole.described import description
from tests.annotation.web.walk.walk import routes

# What has no operation, and why.
SITE = "of the site itself: its entrance, its health, its own files"
OWN_WORK = "an annotator's own work, which is judged by a person"
ACCOUNTS = "accounts and invitations are the administrators', who are people at the page"
TABLE: Mapping[str, str] = {
    "admin/database/": "corpus_list source_list index_list index_read job_list",
    "admin/database/search": "pair_search",
    "admin/database/ask": "pair_answer",
    "admin/database/import": "source_list",
    "admin/database/imports/<int:pk>": "job_read import_rejected",
    "admin/database/imports/<int:pk>/<int:number>/rejected.csv": "import_rejected",
    "admin/database/pairs": "pair_list",
    "admin/database/models": "model_list",
    "admin/database/models/<str:name>": "model_read",
    "admin/database/pairs/<int:pk>": "pair_read",
    "admin/database/trainings": "recipe_list training_list training_create",
    "admin/database/trainings/<int:pk>": "training_read",
    "admin/database/trainings/<int:pk>/cancel": "training_cancel",
    "admin/database/trainings/<int:pk>/resume": "training_resume",
    "admin/database/upload": "pair_import",
    "admin/database/sample": "pair_import",
    "admin/database/index": "index_build",
    "admin/database/count": "source_count",
    "admin/operations/<slug:operation>": "corpus_create corpus_withdraw",
    "admin/log/": "log_list",
    "admin/campaigns/<slug:name>/log/": "log_list",
    "admin/campaigns/<slug:name>/roles/": "role_list campaign_give_role campaign_take_role",
    "admin/campaigns/<slug:name>/panels/": "panel_link_list campaign_open_panel",
    "admin/campaigns/<slug:name>/panels/<slug:key>.csv": "panel_visit_list",
    "admin/campaigns/<slug:name>/workers/": "worker_list worker_figures_list workforce_read",
    "admin/campaigns/<slug:name>/workers/times.csv": "workforce_read",
    "admin/campaigns/<slug:name>/workers/reports": "report_list",
    "admin/campaigns/<slug:name>/workers/<int:pk>": "worker_read letter_list assignment_list",
    "admin/campaigns/<slug:name>/workers/<int:pk>/exclusion-impact": "worker_exclusion_impact",
    "admin/campaigns/<slug:name>/workers/<int:pk>/controls.csv": "assignment_list",
    "admin/jobs/<int:pk>": "job_read",
    "admin/campaigns/": "campaign_list",
    "admin/campaigns/new": "campaign_create",
    "admin/campaigns/<slug:name>/milestones": "campaign_cost_estimate campaign_retrieve "
    "campaign_pack hit_read",
    "admin/campaigns/<slug:name>/publish": "campaign_publish",
    "admin/campaigns/<slug:name>/": "campaign_read chart_list snapshot_list",
    "admin/campaigns/<slug:name>/live": "campaign_read",
    "admin/campaigns/<slug:name>/count": "campaign_snapshot",
    "admin/campaigns/<slug:name>/charts/<slug:key>.csv": "chart_read",
    "admin/campaigns/<slug:name>/operations/<slug:operation>": "campaign_budget campaign_pause",
    "admin/campaigns/<slug:name>/plan": "campaign_plan campaign_create",
    "admin/campaigns/<slug:name>/reconcile": "campaign_reconcile",
    "admin/campaigns/<slug:name>/review/import": "expert_label_import",
    "admin/campaigns/<slug:name>/review/error": "label_error_read",
    "admin/campaigns/<slug:name>/review/": "disagreement_list triplet_list report_list",
    "admin/campaigns/<slug:name>/triplets/": "triplet_list",
    "admin/campaigns/<slug:name>/triplets/<int:pk>": "triplet_read triplet_votes expert_label_list",
    "admin/campaigns/<slug:name>/hits/": "hit_list",
    "admin/campaigns/<slug:name>/hits/<int:pk>": "hit_read",
    "admin/campaigns/<slug:name>/assignments/": "assignment_list assignment_read",
    "admin/campaigns/<slug:name>/controls/": "campaign_control_list campaign_control_rates",
    "admin/campaigns/<slug:name>/controls/<int:pk>": "campaign_control_read "
    "campaign_replace_control campaign_retire_control",
    "admin/campaigns/<slug:name>/control-candidates/": "campaign_control_candidates "
    "control_candidate_list campaign_confirm_control campaign_dismiss_control",
    "admin/campaigns/<slug:name>/control-drafts": "campaign_draft_controls control_draft_list "
    "campaign_add_draft control_draft_import campaign_confirm_draft campaign_dismiss_draft",
    "admin/campaigns/<slug:name>/dry-run": "campaign_dry_run dry_run_list",
    "admin/events/": "event_list",
    "admin/events/<int:pk>": "event_read",
    "admin/events/deliveries/<int:pk>/resend": "delivery_resend",
    "admin/webhooks/": "webhook_list webhook_create",
    "admin/webhooks/<int:pk>/rotate": "webhook_rotate",
    "admin/webhooks/<int:pk>/enable": "webhook_enable",
    "admin/webhooks/<int:pk>/disable": "webhook_disable",
    "admin/pilots/": "pilot_list campaign_pilot",
    "admin/pilots/<slug:name>/": "pilot_read",
    "admin/controls/": "control_list",
    "admin/controls/import": "control_import",
    "admin/controls/<int:pk>": "control_read controls_replace controls_retire",
    "campaigns/<slug:name>/instructions": "instructions_list instructions_read instructions_create",
    "campaigns/<slug:name>/adjudicate": "expert_label_next expert_label_create",
    "releases": "release_list",
    "campaigns/<slug:name>/releases": "release_list build_list",
    "campaigns/<slug:name>/releases/build": "build_create",
    "campaigns/<slug:name>/releases/builds/<int:pk>": "build_read",
    "campaigns/<slug:name>/releases/<int:number>": "release_read",
    "sign-in": "token_create",
    "admin/turk/": "turk_deposit turk_pay_out",
}
TURK = "MTurk's own API, which is described where MTurk's is"
PAGES_OF_TURK = (
    "",
    "/earnings",
    "/<slug:requester>/hits/<turk_id:hit_id>",
    "/<slug:requester>/hits/<turk_id:hit_id>/next",
    "/<slug:requester>/assignments/<turk_id:assignment_id>",
    "/qualifications",
    "/<slug:requester>/qualifications/<turk_id:type_id>",
    "/<slug:requester>/tests/<turk_id:request_id>",
)
WITHOUT: Mapping[str, str] = {
    "admin/lockouts/": ACCOUNTS,
    "admin/lockouts/<slug:digest>/end": ACCOUNTS,
    "team": ACCOUNTS,
    "team/invitations/<int:pk>/revoke": ACCOUNTS,
    "team/members/<int:pk>": ACCOUNTS,
    "first-account/<str:key>": ACCOUNTS,
    "admin/views/save": ACCOUNTS,
    "admin/views/<int:pk>/delete": ACCOUNTS,
    "join/<str:code>": ACCOUNTS,
    "password": ACCOUNTS,
    "password/reset": ACCOUNTS,
    "password/set/<str:uidb64>/<str:token>": ACCOUNTS,
    "mails": ACCOUNTS,
    "mails/confirm/<str:token>": ACCOUNTS,
    "mails/stop/<str:token>": ACCOUNTS,
    "campaigns/<slug:name>/": SITE,
    "admin/database/search/warm": SITE,
    "^turk/?$": TURK,
    "^turk/sandbox/?$": TURK,
    "turk/<environment:environment>/<slug:requester>/mturk/externalSubmit": TURK,
    "turk/<environment:environment>/<slug:requester>/question/<turk_id:hit_id>": TURK,
    "turk/externalHIT_v1.js": TURK,
    "admin/turk/<slug:requester>/change": ACCOUNTS,
    "admin/turk/<slug:requester>/payouts/<int:number>.csv": "the file that `turk payouts` writes",
    **{f"work/turk/<environment:environment>{page}": OWN_WORK for page in PAGES_OF_TURK},
    "panel/<id:key>": OWN_WORK,
    "panels/<slug:crowd>/events": "only crowds send them",
    "work/visits/<int:pk>": OWN_WORK,
    "work": OWN_WORK,
    "work/turk": OWN_WORK,
    "mturk/preview": OWN_WORK,
    "mturk/previewandaccept": OWN_WORK,
    "projects/<turk_id:group_id>/tasks": OWN_WORK,
    "projects/<turk_id:group_id>/tasks/accept_random": OWN_WORK,
    "work/next": OWN_WORK,
    "work/instructions/<slug:name>": OWN_WORK,
    "work/kept": OWN_WORK,
    "work/<id:assignment_id>": OWN_WORK,
    "work/<id:assignment_id>/return": OWN_WORK,
    "work/<id:assignment_id>/renew": OWN_WORK,
    "hit/<str:signed>": OWN_WORK,
    "qualification/<str:signed>": OWN_WORK,
    "": SITE,
    "health": SITE,
    "metrics": SITE,
    "sign-out": SITE,
    "campaigns/<slug:name>/people": SITE,  # leads to the workers
    "releases/<str:token>/<str:filename>": "the link that `release_read` gives",
    "campaigns/<slug:name>/releases/<int:number>/plots/<slug:plot>.svg": "a file of the release",
    "admin/database/trainings/<int:pk>/<slug:plot>/<slug:theme>.svg": "a plot of `training_read`",
    "admin/database/trainings/<int:pk>/answers.jsonl": "the answers of `training_read`",
}
# Django's own frame, and the records, which are looked at by administrators alone.
FRAME = ("admin/login/", "admin/logout/", "admin/password_change/", "admin/jsi18n/",
         "admin/autocomplete/", "admin/search/", "admin/r/", "admin/^", "admin/(")  # fmt: skip


def pages() -> set[str]:
    found = {route for route, pattern in routes() if not route.startswith(("api/", "^api/"))}
    records = {route for route in found if is_a_record(route)}
    return found - records - {"admin/"}


def is_a_record(route: str) -> bool:
    own = ("admin/database/", "admin/campaigns/", "admin/lockouts/", "admin/controls/",
           "admin/pilots/", "admin/jobs/", "admin/log/", "admin/events/",
           "admin/webhooks/", "admin/operations/", "admin/views/", "admin/turk/")  # fmt: skip
    return route.startswith(FRAME) or (route.startswith("admin/") and not route.startswith(own))


def operations_of_all() -> set[str]:
    paths = description()["paths"].values()
    return {described["operationId"] for path in paths for described in path.values()}


def test_every_page_has_its_operations_or_a_reason() -> None:
    assert pages() - TABLE.keys() - WITHOUT.keys() == set()
    assert (TABLE.keys() | WITHOUT.keys()) - pages() == set()


def test_the_operations_named_are_there() -> None:
    named = {name for words in TABLE.values() for name in words.split()}
    assert named - operations_of_all() == set()
