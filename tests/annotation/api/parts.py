"""Who may ask what: an address of the API beside the parts of those who are let through.

What stands in braces is a row of that kind.
"""

from annotation.operations.registry import DATABASE_OPERATIONS, OPERATIONS

SIGNED_IN = {
    "owner", "manager", "adjudicator", "viewer", "annotator", "elsewhere", "stranger", "staff",
    "root",
}  # fmt: skip
WITH_A_PART = SIGNED_IN - {"annotator", "stranger"}
OF_THE_CAMPAIGN = WITH_A_PART - {"elsewhere"}
WHO = {
    "annotation.run_campaign": {"owner", "manager", "root"},
    "annotation.fund_campaign": {"owner", "root"},
    "annotation.manage_workers": {"owner", "manager", "root"},
    "annotation.change_control": {"owner", "manager", "root"},
    "annotation.change_role": {"owner", "root"},
}
OF_THE_DATABASE = {"staff", "root"}
SEEING = OF_THE_CAMPAIGN - {"adjudicator"}  # what the crowd said of a triplet
EXPERTS = {"owner", "manager", "adjudicator", "root"}
RUNNERS = WHO["annotation.run_campaign"]
OWNERS = WHO["annotation.change_role"]
READERS = SEEING - {"staff"}  # staff reads campaigns, and downloads no releases

# Of no campaign; each permission can be given to an account, too.
ELSEWHERE = {
    "campaigns": "annotation.add_campaign",
    "controls/import": "annotation.change_control",
    "jobs/import": "retrieval.add_qapair",
    "jobs/index": "retrieval.add_indexversion",
    "trainings": "retrieval.add_trainedmodel",
    "trainings/1/cancel": "retrieval.add_trainedmodel",
    "trainings/1/resume": "retrieval.add_trainedmodel",
    **{f"operations/{name}": one.permission for name, one in DATABASE_OPERATIONS.items()},
    "webhooks": "annotation.change_webhook",
    "webhooks/{webhook}/rotate": "annotation.change_webhook",
    "webhooks/{webhook}/enable": "annotation.change_webhook",
    "webhooks/{webhook}/disable": "annotation.change_webhook",
    "deliveries/{delivery}/resend": "annotation.change_webhook",
}
LISTS = {
    "me": SIGNED_IN,
    "tokens": SIGNED_IN,
    "jobs": WITH_A_PART,
    "log": WITH_A_PART,
    "campaigns": WITH_A_PART,
    "releases": WITH_A_PART,
    "corpora": OF_THE_DATABASE,
    "sources": OF_THE_DATABASE,
    "sources/faq": OF_THE_DATABASE,
    "indexes": OF_THE_DATABASE,
    "indexes/1": OF_THE_DATABASE,
    "models": OF_THE_DATABASE,
    "models/faq-qqa": OF_THE_DATABASE,
    "recipes": OF_THE_DATABASE,
    "trainings": OF_THE_DATABASE,
    "trainings/1": OF_THE_DATABASE,
    "pairs": OF_THE_DATABASE,
    "pairs/{pair}": OF_THE_DATABASE,
    "jobs/{import}/rejected": OF_THE_DATABASE,
    "controls": WITH_A_PART,
    "controls/{pool control}": WITH_A_PART,
    "pilots": WITH_A_PART,
    "webhooks": {"root"},
    "events": {"root"},
    "events/{event}": {"root"},
}
OF_A_CAMPAIGN = {
    "": OF_THE_CAMPAIGN,
    "/policy": OF_THE_CAMPAIGN,
    "/cost-estimate": OF_THE_CAMPAIGN,
    "/hits": SEEING,
    "/hits/1": SEEING,
    "/assignments": SEEING,
    "/assignments/{assignment}": SEEING,
    "/workers": SEEING,
    "/workers/faq-worker-0": SEEING,
    "/triplets": OF_THE_CAMPAIGN,
    "/triplets/{triplet}": OF_THE_CAMPAIGN,
    "/triplets/{triplet}/votes": OF_THE_CAMPAIGN,
    "/labels": OF_THE_CAMPAIGN,
    "/workers/faq-worker-0/exclusion-impact": SEEING,
    "/workers/faq-worker-0/letters": SEEING,
    "/worker-figures": SEEING,
    "/workforce": SEEING,
    "/reports": SEEING,
    "/disagreements": SEEING,
    "/label-error": SEEING,
    "/plan": SEEING,
    "/snapshots": OF_THE_CAMPAIGN,
    "/charts": OF_THE_CAMPAIGN,
    "/charts/kappa": OF_THE_CAMPAIGN,
    "/controls": OF_THE_CAMPAIGN,
    "/controls/{control}": OF_THE_CAMPAIGN,
    "/control-rates": OF_THE_CAMPAIGN,
    "/control-candidates": SEEING,
    "/control-drafts": OF_THE_CAMPAIGN,
    "/instructions": OF_THE_CAMPAIGN,
    "/instructions/1": OF_THE_CAMPAIGN,
    "/dry-runs": RUNNERS,
    "/panel-links": RUNNERS,
    "/panel-links/none/visits": RUNNERS,
    "/roles": OWNERS,
    "/expert-labels": EXPERTS,
    "/expert-labels/next": EXPERTS,
    "/expert-labels/{expert}": EXPERTS,
    "/releases/1": READERS,
    "/builds": READERS,
    "/builds/1": READERS,
}
POSTS = {
    "/expert-labels": EXPERTS,
    "/expert-labels/import": RUNNERS,
    "/control-drafts/import": WHO["annotation.change_control"],
    "/builds": {"owner", "manager", "root"},
    "/jobs/retrieve": RUNNERS,
    "/jobs/pack": RUNNERS,
    "/jobs/publish": RUNNERS,
    "/jobs/collect": RUNNERS,
    "/jobs/reconcile": RUNNERS,
    "/jobs/dry-run": RUNNERS,
    "/jobs/control-candidates": WHO["annotation.change_control"],
    "/jobs/draft-controls": WHO["annotation.change_control"],
    "/jobs/pool-depth": {"root"},
    "/jobs/snapshot": OF_THE_CAMPAIGN,
    "/instructions": {"owner", "manager", "root"},
    **{
        f"/operations/{name}": {"root"} if one.everywhere else WHO[one.permission]
        for name, one in OPERATIONS.items()
    },
}
