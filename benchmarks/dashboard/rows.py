"""What a campaign gathers beside its votes, written by one statement a table."""

from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from annotation.models import Campaign, Exclusion
from benchmarks.release.record import workers_named
from retrieval.jobs import import_files
from retrieval.models import Job, QaPair

PEOPLE = 1_200
EXCLUDED = 12
MORE_PAIRS = 600_000
TEXTS = 50_000  # different ones among these
LOG_ENTRIES = 150_000
REPORTS = 3_000
EXPERT_LABELS = 2_000
REOPENED_HITS = 800  # of those that break ties: half of their triplets stay unresolved
SNAPSHOTS = 400
JOBS = 500

MORE = """
    INSERT INTO retrieval_qapair
        (source, source_id, question, answer, license, question_key, pair_key)
    SELECT 'more', 'm' || n, texts.question || ' ' || n, texts.answer, 'CC BY 4.0',
        encode(sha256(('q' || n)::bytea), 'hex'), encode(sha256(('p' || n)::bytea), 'hex')
    FROM generate_series(1, %(pairs)s) n
    JOIN (SELECT row_number() OVER (ORDER BY id) AS place, question, answer
          FROM retrieval_qapair LIMIT %(texts)s) texts ON texts.place = n %% %(texts)s + 1
"""
BEHAVIOURS = """
    INSERT INTO annotation_behaviour (assignment_id, active_ms, item_ms, changes, straight)
    SELECT id, 20000 + id * 7919 %% 160000, '{}', id %% 4, id %% 50 = 0 FROM annotation_assignment
"""
REPORTED = """
    INSERT INTO annotation_itemreport (assignment_id, item_id, reason, text)
    SELECT DISTINCT ON (assignment_id, item_id) assignment_id, item_id,
        (ARRAY['unclear', 'offensive', 'personal', 'language', 'other'])[1 + id %% 5],
        'the words do not say what is meant'
    FROM annotation_judgment WHERE triplet_id IS NOT NULL AND id %% 331 = 0 LIMIT %(reports)s
"""
OUTBOX_MESSAGES = """
    INSERT INTO annotation_outboxmessage (campaign_id, kind, token, hit_id, new_assignments, cents,
        reason, state, claim, first_sent_at, attempts, error, created_at)
    SELECT campaign_id, 'create', 'c' || id, id, max_assignments, 0, '', 'done', '',
        published_at, 1, '', published_at
    FROM annotation_hit WHERE campaign_id = %(campaign)s
"""
DECISIONS = """
    INSERT INTO annotation_outboxmessage (campaign_id, kind, token, assignment_id, new_assignments,
        cents, reason, state, claim, first_sent_at, attempts, error, created_at)
    SELECT h.campaign_id, CASE WHEN a.passed THEN 'approve' ELSE 'reject' END, 'd' || a.id, a.id, 0,
        0, CASE WHEN a.passed THEN '' ELSE 'It missed a control.' END,
        'done', '', a.submitted_at, 1, '', a.submitted_at
    FROM annotation_assignment a JOIN annotation_hit h ON h.id = a.hit_id
    WHERE h.campaign_id = %(campaign)s
"""
# A cent each: the sums of the campaign are two entries of `benchmarks.release.record`.
ENTRIES = """
    INSERT INTO annotation_entry (account_id, key, source, target, cents, hit_id, at)
    SELECT c.id, 'hit-' || h.id, 'available', 'reserved', 1, h.id, h.published_at
    FROM annotation_hit h JOIN annotation_account c ON c.campaign_id = h.campaign_id
    WHERE h.campaign_id = %(campaign)s
"""
PAID = """
    INSERT INTO annotation_entry (account_id, key, source, target, cents, hit_id, assignment_id, at)
    SELECT c.id, 'work-' || a.id, 'reserved', 'paid', 1, a.hit_id, a.id, a.submitted_at
    FROM annotation_assignment a JOIN annotation_account c ON c.campaign_id = %(campaign)s
    WHERE a.id IN (SELECT min(w.id) FROM annotation_assignment w
        JOIN annotation_hit h ON h.id = w.hit_id WHERE h.campaign_id = %(campaign)s
        GROUP BY w.hit_id)
"""
LOGGED = """
    INSERT INTO annotation_auditentry (at, user_id, actor, via, verb, campaign_id, subject, details)
    SELECT now() - interval '1 minute' * (%(entries)s - n),
        CASE WHEN n %% 10 < 7 THEN %(owner)s END, CASE WHEN n %% 10 < 7 THEN 'ada' ELSE '' END,
        (ARRAY['page', 'api', 'command'])[1 + n %% 3],
        CASE WHEN n %% 5000 = 0 THEN 'cancel' ELSE
            (ARRAY['label', 'exclude', 'restore', 'bonus', 'collect'])[1 + n %% 5] END,
        CASE WHEN n %% 4 < 3 THEN %(campaign)s END, 'triplet ' || n, '{"label": 1, "before": null}'
    FROM generate_series(1, %(entries)s) n
"""
LABELLED = """
    INSERT INTO annotation_expertlabel
        (triplet_id, expert, label, source, adjudicated, note, created_at)
    SELECT id, 'cleo', coalesce(label, 0), 'adjudication', true, 'read twice', now()
    FROM annotation_triplet WHERE campaign_id = %(campaign)s AND positive_votes > 0
        AND positive_votes < votes ORDER BY id DESC LIMIT %(labels)s
"""
JOBS_DONE = """
    INSERT INTO retrieval_job (kind, subject, arguments, requested_at, state, claim, attempts,
        stage, done, total, result, error, ended_at)
    SELECT 'collect', %(name)s, '{}', now() - interval '1 hour' * n, 'done', '', 1, '', 0, 0,
        '{"submitted": 12}', '', now() - interval '1 hour' * n
    FROM generate_series(1, %(jobs)s) n
"""


def add_rows(campaign: Campaign, owner: User, share: float) -> None:
    """To the large campaign, and to what belongs to none; of the longest tables a share."""
    values: dict[str, int | str] = {
        "campaign": campaign.pk,
        "name": campaign.name,
        "owner": owner.pk,
        "pairs": round(share * MORE_PAIRS),
        "texts": min(TEXTS, QaPair.objects.filter(source="random").count()),
        "reports": REPORTS,
        "entries": round(share * LOG_ENTRIES),
        "labels": EXPERT_LABELS,
        "jobs": JOBS,
    }
    statements = (
        MORE,
        BEHAVIOURS,
        REPORTED,
        OUTBOX_MESSAGES,
        DECISIONS,
        ENTRIES,
        PAID,
        LOGGED,
        LABELLED,
    )
    with connection.cursor() as cursor:
        for statement in (*statements, JOBS_DONE):
            cursor.execute(statement, values)
    _import(owner)


def _import(owner: User) -> None:
    Job.objects.create(
        kind=import_files.KIND,
        subject="random",
        requested_by=owner,
        arguments={"source": "random", "folder": "gone", "files": [{"name": "pairs.jsonl"}]},
        state=Job.State.DONE,
        result={"added": 400_000, "files": [{"added": 400_000, "rejected": 0}]},
    )


def publish_all(campaign: Campaign) -> None:
    """As if the crowd had taken every HIT for a week."""
    campaign.endpoint = settings.MTURK_ENDPOINT
    campaign.hit_type_id = "T1"
    campaign.save(update_fields=["endpoint", "hit_type_id"])
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotation_hit SET crowd_id = 'H' || id, published_at = now() - interval"
            " '1 day', expires_at = now() + interval '6 days' WHERE campaign_id = %s",
            [campaign.pk],
        )


def exclude_some(campaign: Campaign) -> None:
    Exclusion.objects.bulk_create(
        Exclusion(campaign=campaign, worker_id=worker, failures=6, reviewed=20)
        for worker in workers_named(PEOPLE)[:EXCLUDED]
    )


def reopen_some(campaign: Campaign) -> None:
    """The last HITs for ties have not come back: their triplets have one vote against another."""
    late = campaign.hits.filter(repack=True).order_by("-number").values_list("pk", flat=True)
    values = {"hits": list(late[:REOPENED_HITS])}
    with connection.cursor() as cursor:
        for statement in (
            "DELETE FROM annotation_judgment USING annotation_assignment a"
            " WHERE a.id = assignment_id AND a.hit_id = ANY(%(hits)s)",
            "DELETE FROM annotation_assignment WHERE hit_id = ANY(%(hits)s)",
            "UPDATE annotation_triplet t SET votes = 2, positive_votes = 1, label = NULL,"
            " label_source = NULL,"
            " status = CASE WHEN t.id %% 2 = 0 THEN 'open' ELSE 'unresolved' END"
            " FROM annotation_hititem i"
            " WHERE i.triplet_id = t.id AND i.hit_id = ANY(%(hits)s) AND t.votes = 3",
        ):
            cursor.execute(statement, values)


def past_snapshots(campaign: Campaign, began: datetime) -> None:
    """Of each hour before; without their downsampling, which keeps fewer."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotation_snapshot (campaign_id, at, figures) SELECT campaign_id,"
            " %s - interval '1 hour' * n, figures FROM annotation_snapshot,"
            " generate_series(0, %s) n WHERE campaign_id = %s",
            [began, SNAPSHOTS, campaign.pk],
        )
