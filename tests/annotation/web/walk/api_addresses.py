"""What everybody gets at every address of the API: what a GET gets, and an empty POST."""

from collections.abc import Sequence

from tests.annotation.web.walk.walk import Rule


def api(who: str, gets: int) -> Rule:
    return Rule(who, gets, stranger=401)


UNLABELLED = Rule("view", 200, stranger=401, blind=404)

# fmt: off
OF_THE_API: Sequence[tuple[Rule, Rule, str]] = [
    (api("staff", 200), api("staff", 405), """
        api/v1/sources
        api/v1/indexes
        api/v1/models
        api/v1/corpora
        api/v1/recipes
    """),
    (api("staff", 200), api("root", 400), """
        api/v1/trainings
    """),
    (api("staff", 405), api("root", 404), """
        api/v1/trainings/<int:pk>/cancel
        api/v1/trainings/<int:pk>/resume
    """),
    (api("staff", 404), api("staff", 405), """
        api/v1/sources/<str:source>
        api/v1/models/<str:name>
        api/v1/trainings/<int:pk>
        api/v1/indexes/<int:pk>
    """),
    (api("staff", 405), api("staff", 400), """
        api/v1/pairs/search
        api/v1/pairs/answer
        api/v1/jobs/count
    """),
    (api("staff", 400), api("staff", 405), """
        api/v1/pairs
    """),
    (api("staff", 405), api("root", 400), """
        api/v1/jobs/index
    """),
    (api("staff", 405), api("root", 415), """
        api/v1/jobs/import
    """),
    (api("staff", 404), api("staff", 405), """
        api/v1/pairs/<int:pk>
        api/v1/jobs/<int:pk>/rejected
    """),
    (api("view", 405), api("root", 400), """
        api/v1/operations/create-corpus
        api/v1/operations/add-source
        api/v1/operations/remove-source
        api/v1/operations/remove-corpus
        api/v1/operations/withdraw-pairs
        api/v1/operations/restore-pairs
        api/v1/operations/forget-history
        api/v1/operations/turk-deposit
        api/v1/operations/turk-pay-out
        api/v1/operations/add-control
        api/v1/operations/replace-control
        api/v1/operations/retire-control
    """),
    (api("signed in", 200), api("signed in", 405), """
        api/v1/me
    """),
    (api("signed in", 200), Rule("all", 400), """
        api/v1/tokens
    """),
    (api("signed in", 405), api("signed in", 405), """
        api/v1/tokens/<slug:key>
    """),
    (api("view", 200), api("view", 405), """
        api/v1/jobs
        api/v1/controls
        api/v1/pilots
        api/v1/jobs/<int:pk>
        api/v1/log
        api/v1/campaigns/<slug:name>
        api/v1/campaigns/<slug:name>/policy
        api/v1/campaigns/<slug:name>/cost-estimate
        api/v1/campaigns/<slug:name>/triplets
        api/v1/campaigns/<slug:name>/labels
        api/v1/campaigns/<slug:name>/snapshots
        api/v1/campaigns/<slug:name>/charts
        api/v1/campaigns/<slug:name>/charts/<slug:key>
        api/v1/campaigns/<slug:name>/controls
        api/v1/campaigns/<slug:name>/control-rates
        api/v1/campaigns/<slug:name>/control-drafts
        api/v1/controls/<int:pk>
        api/v1/releases
    """),
    (api("see votes", 200), api("view", 405), """
        api/v1/campaigns/<slug:name>/hits
        api/v1/campaigns/<slug:name>/hits/<int:number>
        api/v1/campaigns/<slug:name>/assignments
        api/v1/campaigns/<slug:name>/workers
        api/v1/campaigns/<slug:name>/workers/<str:worker>
        api/v1/campaigns/<slug:name>/worker-figures
        api/v1/campaigns/<slug:name>/workforce
        api/v1/campaigns/<slug:name>/disagreements
        api/v1/campaigns/<slug:name>/label-error
        api/v1/campaigns/<slug:name>/reports
        api/v1/campaigns/<slug:name>/control-candidates
        api/v1/campaigns/<slug:name>/workers/<str:worker>/exclusion-impact
        api/v1/campaigns/<slug:name>/workers/<str:worker>/letters
    """),
    (api("see votes", 422), api("view", 405), """
        api/v1/campaigns/<slug:name>/plan
    """),
    (UNLABELLED, api("view", 405), """
        api/v1/campaigns/<slug:name>/triplets/<int:pk>
        api/v1/campaigns/<slug:name>/triplets/<int:pk>/votes
    """),
    (api("view", 404), api("view", 405), """
        api/v1/campaigns/<slug:name>/controls/<int:pk>
        api/v1/campaigns/<slug:name>/instructions/<int:version>
        api/v1/pilots/<slug:name>
    """),
    (api("root", 200), api("root", 400), """
        api/v1/webhooks
    """),
    (api("view", 405), api("root", 200), """
        api/v1/webhooks/<int:pk>/rotate
        api/v1/webhooks/<int:pk>/enable
        api/v1/webhooks/<int:pk>/disable
        api/v1/deliveries/<int:pk>/resend
    """),
    (api("root", 200), api("view", 405), """
        api/v1/events
        api/v1/events/<int:pk>
    """),
    (api("view", 405), api("root", 400), """
        api/v1/controls/import
        api/v1/campaigns/<slug:name>/operations/confirm-control
        api/v1/campaigns/<slug:name>/operations/pilot
        api/v1/campaigns/<slug:name>/operations/second-crowd
        api/v1/campaigns/<slug:name>/jobs/pool-depth
    """),
    (api("manage", 200), api("view", 405), """
        api/v1/campaigns/<slug:name>/dry-runs
        api/v1/campaigns/<slug:name>/panel-links
    """),
    (api("manage", 404), api("view", 405), """
        api/v1/campaigns/<slug:name>/panel-links/<slug:key>/visits
    """),
    (api("own", 200), api("view", 405), """
        api/v1/campaigns/<slug:name>/roles
    """),
    (api("view", 200), api("manage", 400), """
        api/v1/campaigns/<slug:name>/instructions
    """),
    (api("view", 405), api("view", 400), """
        api/v1/campaigns/<slug:name>/jobs/snapshot
    """),
    (api("view", 200), api("root", 400), """
        api/v1/campaigns
    """),
    (api("view", 405), api("manage", 400), """
        api/v1/campaigns/<slug:name>/jobs/retrieve
        api/v1/campaigns/<slug:name>/jobs/pack
        api/v1/campaigns/<slug:name>/jobs/publish
        api/v1/campaigns/<slug:name>/jobs/collect
        api/v1/campaigns/<slug:name>/jobs/reconcile
        api/v1/campaigns/<slug:name>/jobs/dry-run
        api/v1/campaigns/<slug:name>/jobs/control-candidates
        api/v1/campaigns/<slug:name>/jobs/draft-controls
        api/v1/campaigns/<slug:name>/operations/pause
        api/v1/campaigns/<slug:name>/operations/resume
        api/v1/campaigns/<slug:name>/operations/expire
        api/v1/campaigns/<slug:name>/operations/extend
        api/v1/campaigns/<slug:name>/operations/retry
        api/v1/campaigns/<slug:name>/operations/exclude
        api/v1/campaigns/<slug:name>/operations/restore
        api/v1/campaigns/<slug:name>/operations/message
        api/v1/campaigns/<slug:name>/operations/grant-qualification
        api/v1/campaigns/<slug:name>/operations/approve
        api/v1/campaigns/<slug:name>/operations/reject
        api/v1/campaigns/<slug:name>/operations/bonus
        api/v1/campaigns/<slug:name>/operations/cancel-bonus
        api/v1/campaigns/<slug:name>/operations/open-panel
        api/v1/campaigns/<slug:name>/operations/close-panel
        api/v1/campaigns/<slug:name>/operations/request-returns
        api/v1/campaigns/<slug:name>/operations/forget-participant
        api/v1/campaigns/<slug:name>/operations/replace-control
        api/v1/campaigns/<slug:name>/operations/retire-control
        api/v1/campaigns/<slug:name>/operations/dismiss-control
        api/v1/campaigns/<slug:name>/operations/add-draft
        api/v1/campaigns/<slug:name>/control-drafts/import
        api/v1/campaigns/<slug:name>/operations/confirm-draft
        api/v1/campaigns/<slug:name>/operations/dismiss-draft
    """),
    (api("view", 405), api("own", 400), """
        api/v1/campaigns/<slug:name>/operations/budget
        api/v1/campaigns/<slug:name>/operations/cancel
        api/v1/campaigns/<slug:name>/operations/give-role
        api/v1/campaigns/<slug:name>/operations/take-role
    """),
    (api("see votes", 404), api("view", 405), """
        api/v1/campaigns/<slug:name>/assignments/<int:pk>
    """),
    (api("adjudicate", 200), api("adjudicate", 400), """
        api/v1/campaigns/<slug:name>/expert-labels
    """),
    (api("adjudicate", 200), api("view", 405), """
        api/v1/campaigns/<slug:name>/expert-labels/next
    """),
    (api("view", 405), api("manage", 400), """
        api/v1/campaigns/<slug:name>/expert-labels/import
    """),
    (api("adjudicate", 404), api("view", 405), """
        api/v1/campaigns/<slug:name>/expert-labels/<int:pk>
    """),
    (api("download", 404), api("view", 405), """
        api/v1/campaigns/<slug:name>/releases/<int:number>
        api/v1/campaigns/<slug:name>/builds/<int:pk>
    """),
    (api("download", 200), api("manage", 400), """
        api/v1/campaigns/<slug:name>/builds
    """),
]
# fmt: on
