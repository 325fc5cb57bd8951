-- The emulator's state. Outside auditors read it: see the package's docstring.

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE workspaces (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace_id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    currency TEXT NOT NULL CHECK (currency IN ('GBP', 'USD')),
    created_at REAL NOT NULL,
    -- The wallet: sums of `money`, kept by a trigger.
    available INTEGER NOT NULL DEFAULT 0 CHECK (available >= 0),
    locked INTEGER NOT NULL DEFAULT 0 CHECK (locked >= 0),
    paid INTEGER NOT NULL DEFAULT 0 CHECK (paid >= 0)
);

CREATE TABLE projects (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (workspace_id),
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    created_at REAL NOT NULL
);

CREATE TABLE studies (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    study_id TEXT NOT NULL UNIQUE,
    project_id TEXT NOT NULL REFERENCES projects (project_id),
    status TEXT NOT NULL CHECK (status IN ('UNPUBLISHED', 'SCHEDULED', 'PUBLISHING', 'ACTIVE',
        'PAUSED', 'AWAITING REVIEW', 'COMPLETED')),
    stopped INTEGER NOT NULL DEFAULT 0,   -- by STOP: it does not reopen by itself
    total_places INTEGER NOT NULL CHECK (total_places >= 1),
    reward_cents INTEGER NOT NULL CHECK (reward_cents >= 0),
    max_minutes INTEGER NOT NULL,
    fields TEXT NOT NULL,                 -- JSON: the other fields, as they are shown
    created_at REAL NOT NULL,
    publish_at REAL,
    published_at REAL,
    active_at REAL,                       -- when PUBLISHING ends
    rewards_locked INTEGER NOT NULL DEFAULT 0 CHECK (rewards_locked >= 0),
    rewards_paid INTEGER NOT NULL DEFAULT 0 CHECK (rewards_paid >= 0)
);
CREATE INDEX studies_due ON studies (status, active_at, publish_at);
CREATE TRIGGER places_only_grow BEFORE UPDATE OF total_places ON studies
WHEN NEW.total_places < OLD.total_places AND OLD.status <> 'UNPUBLISHED' BEGIN
    SELECT RAISE(ABORT, 'places only grow');
END;

CREATE TABLE participants (participant_id TEXT PRIMARY KEY, created_at REAL NOT NULL);

CREATE TABLE submissions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    submission_id TEXT NOT NULL UNIQUE,
    study_id TEXT NOT NULL REFERENCES studies (study_id),
    participant_id TEXT NOT NULL REFERENCES participants,
    status TEXT NOT NULL CHECK (status IN ('RESERVED', 'ACTIVE', 'TIMED-OUT', 'AWAITING REVIEW',
        'APPROVED', 'PARTIALLY APPROVED', 'REJECTED', 'RETURNED', 'SCREENED OUT')),
    reserved_at REAL NOT NULL,
    due_at REAL,                          -- when time decides: it is lost, or approved
    started_at REAL,
    completed_at REAL,
    entered_code TEXT,
    return_requested REAL,
    rejection_category TEXT,
    rejection_message TEXT
);
CREATE INDEX submissions_of_study ON submissions (study_id, status);
CREATE INDEX submissions_of_participant ON submissions (participant_id, study_id);
CREATE INDEX submissions_due ON submissions (due_at) WHERE due_at IS NOT NULL;
CREATE VIEW taken_places AS
SELECT study_id, COUNT(*) AS taken FROM submissions
WHERE status IN ('RESERVED', 'ACTIVE', 'AWAITING REVIEW', 'APPROVED', 'PARTIALLY APPROVED')
GROUP BY study_id;
CREATE TRIGGER no_place_is_taken_twice BEFORE INSERT ON submissions
WHEN (SELECT taken FROM taken_places WHERE study_id = NEW.study_id)
    >= (SELECT total_places FROM studies WHERE study_id = NEW.study_id) BEGIN
    SELECT RAISE(ABORT, 'all places are taken');
END;

-- What participants were paid, in cents, without fees.
CREATE TABLE payments (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    submission_id TEXT NOT NULL REFERENCES submissions (submission_id),
    kind TEXT NOT NULL CHECK (kind IN ('reward', 'partial', 'screen_out', 'bonus')),
    cents INTEGER NOT NULL CHECK (cents > 0),
    at REAL NOT NULL
);
CREATE UNIQUE INDEX paid_once ON payments (submission_id) WHERE kind <> 'bonus';
CREATE INDEX payments_of_submission ON payments (submission_id, seq);

-- In hundredths of a cent, in which fees are exact enough.
CREATE TABLE money (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('deposit', 'study', 'bonus')),
    workspace_id TEXT NOT NULL REFERENCES workspaces (workspace_id),
    study_id TEXT REFERENCES studies (study_id),
    available INTEGER NOT NULL,
    locked INTEGER NOT NULL,
    paid INTEGER NOT NULL,
    CHECK (kind = 'deposit' OR available + locked + paid = 0)
);
CREATE TRIGGER money_adds_up AFTER INSERT ON money BEGIN
    UPDATE workspaces SET available = available + NEW.available, locked = locked + NEW.locked,
        paid = paid + NEW.paid WHERE workspace_id = NEW.workspace_id;
END;
CREATE TRIGGER money_is_never_changed BEFORE UPDATE ON money BEGIN
    SELECT RAISE(ABORT, 'money is append-only');
END;
CREATE TRIGGER money_is_never_deleted BEFORE DELETE ON money BEGIN
    SELECT RAISE(ABORT, 'money is append-only');
END;

CREATE TABLE bulk_bonuses (
    bulk_id TEXT PRIMARY KEY,
    study_id TEXT NOT NULL REFERENCES studies (study_id),
    created_at REAL NOT NULL
);
CREATE TABLE bulk_bonus_items (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    bulk_id TEXT NOT NULL REFERENCES bulk_bonuses,
    submission_id TEXT NOT NULL REFERENCES submissions (submission_id),
    cents INTEGER NOT NULL CHECK (cents > 0)
);
CREATE INDEX items_of_bulk ON bulk_bonus_items (bulk_id, seq);
-- One row an accepted call of `pay`: two calls pay twice.
CREATE TABLE bonus_runs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    bulk_id TEXT NOT NULL REFERENCES bulk_bonuses,
    due_at REAL NOT NULL,
    paid_at REAL
);
CREATE TABLE bulk_approvals (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    submission_id TEXT NOT NULL REFERENCES submissions (submission_id),
    due_at REAL NOT NULL,
    done_at REAL
);

CREATE TABLE participant_groups (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    group_id TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (workspace_id),
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    is_deleted INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL
);
CREATE TABLE members (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    group_id TEXT NOT NULL REFERENCES participant_groups (group_id),
    participant_id TEXT NOT NULL,
    added_at REAL NOT NULL,
    UNIQUE (group_id, participant_id)
);

CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id TEXT NOT NULL UNIQUE,
    sender_id TEXT NOT NULL,
    recipient_id TEXT NOT NULL,
    study_id TEXT,
    body TEXT NOT NULL,
    sent_at REAL NOT NULL
);
CREATE INDEX messages_to ON messages (recipient_id, seq);

CREATE TABLE hook_secrets (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    secret_id TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL UNIQUE REFERENCES workspaces (workspace_id),
    value TEXT NOT NULL
);
CREATE TABLE subscriptions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription_id TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (workspace_id),
    event_type TEXT NOT NULL,
    target_url TEXT NOT NULL,
    handshake TEXT NOT NULL,              -- sent as X-Hook-Secret, asked back to confirm
    is_confirmed INTEGER NOT NULL DEFAULT 0,
    is_enabled INTEGER NOT NULL DEFAULT 1,
    failing_since REAL,
    created_at REAL NOT NULL
);
CREATE TABLE hook_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE,
    subscription_id TEXT NOT NULL REFERENCES subscriptions (subscription_id) ON DELETE CASCADE,
    resource_id TEXT NOT NULL,
    payload TEXT NOT NULL,                -- as it is sent
    status TEXT NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'SUCCEEDED', 'FAILED')),
    attempts INTEGER NOT NULL DEFAULT 0,
    fault TEXT,                           -- repeated or late: once
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    next_at REAL NOT NULL
);
CREATE INDEX hook_events_due ON hook_events (next_at, seq) WHERE status = 'PENDING';

CREATE TABLE faults (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    operation TEXT NOT NULL,
    at REAL NOT NULL
);
