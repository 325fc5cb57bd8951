from django.urls import path

from annotation.api.base import auth_scheme as scheme
from annotation.api.base.jobs import Jobs, OneJob
from annotation.api.base.me import Me
from annotation.api.base.tokens import Token, Tokens
from annotation.api.campaigns.campaigns import (
    CampaignCostEstimate,
    CampaignPolicy,
    Campaigns,
    OneCampaign,
)
from annotation.api.campaigns.figures import Charts, OneChart, Snapshots
from annotation.api.campaigns.instructions import OneVersion, Versions
from annotation.api.campaigns.log import Log
from annotation.api.campaigns.operations import DATABASE_VIEWS, LONG_VIEWS, VIEWS
from annotation.api.campaigns.plan import VotesPlan
from annotation.api.campaigns.roles import Roles
from annotation.api.controls.campaign_controls import (
    CampaignControl,
    CampaignControls,
    ControlCandidates,
    ControlDrafts,
    ControlRates,
)
from annotation.api.controls.control_import import ImportControlDrafts, ImportControls
from annotation.api.controls.controls import Controls, OneControl
from annotation.api.database.database import BuildIndex, CountSources
from annotation.api.database.imports import Import, Rejected
from annotation.api.experts.experts import ExpertLabels, NextTriplet, OneExpertLabel
from annotation.api.experts.gold_import import ImportExpertLabels
from annotation.api.experts.label_error import LabelErrorRead
from annotation.api.experts.review import Disagreements, Reports
from annotation.api.hits.assignments import Assignments, OneAssignment
from annotation.api.hits.hits import Hits, OneHit
from annotation.api.hits.triplets import Labels, OneTriplet, Triplets
from annotation.api.hits.votes import Votes
from annotation.api.notifications.webhooks import (
    DisableWebhook,
    EnableWebhook,
    Events,
    OneEvent,
    ResendDelivery,
    RotateSecret,
    Webhooks,
)
from annotation.api.studies.dry_runs import DryRuns
from annotation.api.studies.pilots import OnePilot, Pilots
from annotation.api.workers.panels import Links, Visits
from annotation.api.workers.worker_figures import (
    Letters,
    WorkerExclusionImpact,
    WorkerFiguresList,
    WorkforceFigures,
)
from annotation.api.workers.workers import OneWorker, Workers

# Found by being imported: the description names tokens by it.
SCHEMES = (scheme.BearerScheme,)
CAMPAIGN = "campaigns/<slug:name>"

urlpatterns = [
    path("me", Me.as_view()),
    path("tokens", Tokens.as_view()),
    path("tokens/<slug:key>", Token.as_view()),
    path("jobs", Jobs.as_view()),
    path("jobs/<int:pk>", OneJob.as_view(), name="api-job"),
    path("jobs/<int:pk>/rejected", Rejected.as_view()),
    path("jobs/import", Import.as_view()),
    path("jobs/index", BuildIndex.as_view()),
    path("jobs/count", CountSources.as_view()),
    *(path(f"operations/{name}", view.as_view()) for name, view in DATABASE_VIEWS.items()),
    path("controls", Controls.as_view()),
    path("controls/import", ImportControls.as_view()),
    path("controls/<int:pk>", OneControl.as_view()),
    path("pilots", Pilots.as_view()),
    path("pilots/<slug:name>", OnePilot.as_view()),
    path("log", Log.as_view()),
    path("webhooks", Webhooks.as_view()),
    path("webhooks/<int:pk>/rotate", RotateSecret.as_view()),
    path("webhooks/<int:pk>/enable", EnableWebhook.as_view()),
    path("webhooks/<int:pk>/disable", DisableWebhook.as_view()),
    path("events", Events.as_view()),
    path("events/<int:pk>", OneEvent.as_view()),
    path("deliveries/<int:pk>/resend", ResendDelivery.as_view()),
    path("campaigns", Campaigns.as_view()),
    path(CAMPAIGN, OneCampaign.as_view(), name="api-campaign"),
    path(f"{CAMPAIGN}/policy", CampaignPolicy.as_view()),
    path(f"{CAMPAIGN}/plan", VotesPlan.as_view()),
    path(f"{CAMPAIGN}/cost-estimate", CampaignCostEstimate.as_view()),
    *(path(f"{CAMPAIGN}/jobs/{name}", view.as_view()) for name, view in LONG_VIEWS.items()),
    path(f"{CAMPAIGN}/dry-runs", DryRuns.as_view()),
    *(path(f"{CAMPAIGN}/operations/{name}", view.as_view()) for name, view in VIEWS.items()),
    path(f"{CAMPAIGN}/hits", Hits.as_view()),
    path(f"{CAMPAIGN}/hits/<int:number>", OneHit.as_view()),
    path(f"{CAMPAIGN}/assignments", Assignments.as_view()),
    path(f"{CAMPAIGN}/assignments/<int:pk>", OneAssignment.as_view()),
    path(f"{CAMPAIGN}/workers", Workers.as_view()),
    path(f"{CAMPAIGN}/workers/<str:worker>", OneWorker.as_view()),
    path(f"{CAMPAIGN}/workers/<str:worker>/exclusion-impact", WorkerExclusionImpact.as_view()),
    path(f"{CAMPAIGN}/workers/<str:worker>/letters", Letters.as_view()),
    path(f"{CAMPAIGN}/worker-figures", WorkerFiguresList.as_view()),
    path(f"{CAMPAIGN}/workforce", WorkforceFigures.as_view()),
    path(f"{CAMPAIGN}/reports", Reports.as_view()),
    path(f"{CAMPAIGN}/disagreements", Disagreements.as_view()),
    path(f"{CAMPAIGN}/label-error", LabelErrorRead.as_view()),
    path(f"{CAMPAIGN}/snapshots", Snapshots.as_view()),
    path(f"{CAMPAIGN}/charts", Charts.as_view()),
    path(f"{CAMPAIGN}/charts/<slug:key>", OneChart.as_view()),
    path(f"{CAMPAIGN}/panel-links", Links.as_view()),
    path(f"{CAMPAIGN}/panel-links/<slug:key>/visits", Visits.as_view()),
    path(f"{CAMPAIGN}/roles", Roles.as_view()),
    path(f"{CAMPAIGN}/instructions", Versions.as_view()),
    path(f"{CAMPAIGN}/instructions/<int:version>", OneVersion.as_view()),
    path(f"{CAMPAIGN}/controls", CampaignControls.as_view()),
    path(f"{CAMPAIGN}/controls/<int:pk>", CampaignControl.as_view()),
    path(f"{CAMPAIGN}/control-rates", ControlRates.as_view()),
    path(f"{CAMPAIGN}/control-candidates", ControlCandidates.as_view()),
    path(f"{CAMPAIGN}/control-drafts", ControlDrafts.as_view()),
    path(f"{CAMPAIGN}/control-drafts/import", ImportControlDrafts.as_view()),
    path(f"{CAMPAIGN}/triplets", Triplets.as_view()),
    path(f"{CAMPAIGN}/triplets/<int:pk>", OneTriplet.as_view()),
    path(f"{CAMPAIGN}/triplets/<int:pk>/votes", Votes.as_view()),
    path(f"{CAMPAIGN}/labels", Labels.as_view()),
    path(f"{CAMPAIGN}/expert-labels", ExpertLabels.as_view()),
    path(f"{CAMPAIGN}/expert-labels/import", ImportExpertLabels.as_view()),
    path(f"{CAMPAIGN}/expert-labels/next", NextTriplet.as_view()),
    path(f"{CAMPAIGN}/expert-labels/<int:pk>", OneExpertLabel.as_view()),
]
