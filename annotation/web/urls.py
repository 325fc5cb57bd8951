from django.urls import path

from annotation.web.account.lockouts import end_lockout, lockouts
from annotation.web.account.log_page import campaign_log, log
from annotation.web.base.job import job
from annotation.web.base.saved_views import delete_view, save_view
from annotation.web.campaigns.campaigns import campaigns
from annotation.web.campaigns.milestones import campaign_milestones
from annotation.web.campaigns.operation import database_operation_page, operation_page
from annotation.web.campaigns.overview import chart_csv, count_now, live, overview
from annotation.web.campaigns.publication import campaign_publish
from annotation.web.campaigns.reconciliation import campaign_reconcile
from annotation.web.campaigns.roles import campaign_roles
from annotation.web.campaigns.setup import load_sample
from annotation.web.controls.control import campaign_control, pool_control
from annotation.web.controls.control_import import import_to_pool
from annotation.web.controls.controls import (
    campaign_controls,
    controls,
    find_control_candidates,
)
from annotation.web.controls.drafts import control_drafts
from annotation.web.database import build, count, pair, upload
from annotation.web.experts.gold_import import import_experts
from annotation.web.experts.label_error import label_error
from annotation.web.experts.review import review
from annotation.web.hits.assignments import assignments
from annotation.web.hits.hit import hit_record
from annotation.web.hits.hits import hits
from annotation.web.hits.triplet import triplet_page
from annotation.web.hits.triplets import triplets
from annotation.web.new_campaign.plan import campaign_plan
from annotation.web.new_campaign.wizard import new_campaign
from annotation.web.notifications.events import event, events, resend_delivery
from annotation.web.notifications.webhooks import change_webhook, webhooks
from annotation.web.panels.links import panel_list, panels
from annotation.web.studies.dry_run import dry_run
from annotation.web.studies.pilot import pilot
from annotation.web.studies.pilots import pilots
from annotation.web.turk.accounts import change_account, payout_csv, turk_accounts
from annotation.web.workers.history import history, past_assignment
from annotation.web.workers.known_workers import known_worker, known_workers
from annotation.web.workers.worker import controls_csv, exclusion_impact, worker
from annotation.web.workers.workers import reports, times_csv, workers

urlpatterns = [
    path("database/upload", upload, name="database-upload"),
    path("database/index", build, name="database-build"),
    path("database/count", count, name="database-count"),
    path("database/pairs/<int:pk>", pair, name="database-pair"),
    path("operations/<slug:operation>", database_operation_page, name="database-operation"),
    path("log/", log, name="log"),
    path("events/", events, name="events"),
    path("events/<int:pk>", event, name="event"),
    path("events/deliveries/<int:pk>/resend", resend_delivery, name="resend-delivery"),
    path("webhooks/", webhooks, name="webhooks"),
    *(
        path(f"webhooks/<int:pk>/{verb}", change_webhook, {"verb": verb}, name=f"{verb}-webhook")
        for verb in ("rotate", "enable", "disable")
    ),
    path("turk/", turk_accounts, name="turk-accounts"),
    path("turk/<slug:requester>/change", change_account, name="change-turk-account"),
    path("turk/<slug:requester>/payouts/<int:number>.csv", payout_csv, name="payout-csv"),
    path("lockouts/", lockouts, name="lockouts"),
    path("lockouts/<slug:digest>/end", end_lockout, name="end-lockout"),
    path("campaigns/<slug:name>/log/", campaign_log, name="campaign-log"),
    path("campaigns/<slug:name>/roles/", campaign_roles, name="campaign-roles"),
    path("campaigns/<slug:name>/workers/", workers, name="campaign-workers"),
    path("campaigns/<slug:name>/workers/times.csv", times_csv, name="campaign-workers-csv"),
    path("campaigns/<slug:name>/workers/reports", reports, name="campaign-reports"),
    path("campaigns/<slug:name>/panels/", panels, name="campaign-panels"),
    path("campaigns/<slug:name>/panels/<slug:key>.csv", panel_list, name="panel-list"),
    path("campaigns/<slug:name>/workers/<int:pk>", worker, name="campaign-worker"),
    path(
        "campaigns/<slug:name>/workers/<int:pk>/exclusion-impact",
        exclusion_impact,
        name="campaign-worker-exclusion-impact",
    ),
    path(
        "campaigns/<slug:name>/workers/<int:pk>/controls.csv",
        controls_csv,
        name="campaign-worker-csv",
    ),
    path("history/", known_workers, name="known-workers"),
    path("history/assignments/", history, name="history"),
    path("history/assignments/<int:pk>", past_assignment, name="past-assignment"),
    path("history/workers/<int:pk>", known_worker, name="known-worker"),
    path("jobs/<int:pk>", job, name="job"),
    path("views/save", save_view, name="save-view"),
    path("views/<int:pk>/delete", delete_view, name="delete-view"),
    path("campaigns/", campaigns, name="dashboard"),
    path("database/sample", load_sample, name="sample-data"),
    path("campaigns/new", new_campaign, name="campaign-new"),  # no campaign has that name
    path("campaigns/<slug:name>/milestones", campaign_milestones, name="campaign-milestones"),
    path("campaigns/<slug:name>/publish", campaign_publish, name="campaign-publish"),
    path("campaigns/<slug:name>/plan", campaign_plan, name="campaign-plan"),
    path("campaigns/<slug:name>/reconcile", campaign_reconcile, name="campaign-reconcile"),
    path("campaigns/<slug:name>/", overview, name="campaign"),
    path("campaigns/<slug:name>/live", live, name="campaign-live"),
    path("campaigns/<slug:name>/count", count_now, name="campaign-count"),
    path("campaigns/<slug:name>/charts/<slug:key>.csv", chart_csv, name="campaign-chart"),
    path("campaigns/<slug:name>/operations/<slug:operation>", operation_page, name="operation"),
    path("campaigns/<slug:name>/review/", review, name="campaign-review"),
    path("campaigns/<slug:name>/review/error", label_error, name="campaign-label-error"),
    path("campaigns/<slug:name>/review/import", import_experts, name="import-experts"),
    path("campaigns/<slug:name>/triplets/", triplets, name="campaign-triplets"),
    path("campaigns/<slug:name>/triplets/<int:pk>", triplet_page, name="campaign-triplet"),
    path("campaigns/<slug:name>/hits/", hits, name="campaign-hits"),
    path("campaigns/<slug:name>/hits/<int:pk>", hit_record, name="campaign-hit"),
    path("campaigns/<slug:name>/assignments/", assignments, name="campaign-assignments"),
    path("campaigns/<slug:name>/controls/", campaign_controls, name="campaign-controls"),
    path("campaigns/<slug:name>/controls/<int:pk>", campaign_control, name="campaign-control"),
    path(
        "campaigns/<slug:name>/control-candidates/",
        find_control_candidates,
        name="find-control-candidates",
    ),
    path("campaigns/<slug:name>/control-drafts", control_drafts, name="campaign-control-drafts"),
    path("campaigns/<slug:name>/dry-run", dry_run, name="campaign-dry-run"),
    path("pilots/", pilots, name="pilots"),
    path("pilots/<slug:name>/", pilot, name="pilot"),
    path("controls/", controls, name="controls"),
    path("controls/import", import_to_pool, name="import-controls"),
    path("controls/<int:pk>", pool_control, name="control"),
]
