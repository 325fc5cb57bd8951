-- The emulator's state. Outside auditors read it: see the package's docstring.

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE hit_types (
    hit_type_id TEXT PRIMARY KEY,
    hit_group_id TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL UNIQUE,          -- of the parameters: equal parameters, equal type
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    keywords TEXT NOT NULL,
    reward_cents INTEGER NOT NULL CHECK (reward_cents >= 0),
    assignment_seconds INTEGER NOT NULL,
    auto_approval_seconds INTEGER NOT NULL,
    requirements TEXT NOT NULL,           -- JSON list of QualificationRequirement
    created_at REAL NOT NULL
);

CREATE TABLE hits (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    hit_id TEXT NOT NULL UNIQUE,
    hit_type_id TEXT NOT NULL REFERENCES hit_types,
    requester_annotation TEXT,
    unique_request_token TEXT,
    max_assignments INTEGER NOT NULL CHECK (max_assignments >= 1),
    open_assignments INTEGER NOT NULL CHECK (open_assignments BETWEEN 0 AND max_assignments),
    expired INTEGER NOT NULL DEFAULT 0 CHECK (expired IN (0, 1)),
    created_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    reward_cents INTEGER NOT NULL,
    fee_cents INTEGER NOT NULL,           -- for one assignment
    external_url TEXT NOT NULL,           -- from the question
    frame_height INTEGER NOT NULL,
    deleted_at REAL,                      -- shown as Disposed since, and in no list
    question TEXT NOT NULL                -- last: it is long, and lists do not read it
);
-- The worker's list walks this one: HITs drop out when they fill up or expire.
CREATE INDEX hits_open ON hits (seq) WHERE open_assignments > 0 AND expired = 0;
CREATE INDEX hits_to_expire ON hits (expires_at) WHERE expired = 0;
CREATE INDEX hits_by_token ON hits (unique_request_token, created_at)
    WHERE unique_request_token IS NOT NULL;

CREATE TABLE extensions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    hit_id TEXT NOT NULL REFERENCES hits (hit_id),
    assignments INTEGER NOT NULL CHECK (assignments >= 1),
    unique_request_token TEXT,
    request_id TEXT NOT NULL,
    created_at REAL NOT NULL
);
CREATE INDEX extensions_by_token ON extensions (unique_request_token, created_at)
    WHERE unique_request_token IS NOT NULL;

CREATE TABLE workers (
    worker_id TEXT PRIMARY KEY,
    masters INTEGER NOT NULL CHECK (masters IN (0, 1)),
    approval_percent INTEGER NOT NULL CHECK (approval_percent BETWEEN 0 AND 100),
    approved_hits INTEGER NOT NULL CHECK (approved_hits >= 0),
    created_at REAL NOT NULL
);

CREATE TABLE assignments (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    assignment_id TEXT NOT NULL UNIQUE,
    hit_id TEXT NOT NULL REFERENCES hits (hit_id),
    worker_id TEXT NOT NULL REFERENCES workers,
    status TEXT NOT NULL CHECK (status IN
        ('Accepted', 'Submitted', 'Approved', 'Rejected', 'Returned', 'Abandoned')),
    accepted_at REAL NOT NULL,
    deadline REAL NOT NULL,
    submitted_at REAL,
    submit_number INTEGER UNIQUE,
    auto_approval_at REAL,
    approved_at REAL,
    rejected_at REAL,
    ended_at REAL,                        -- returned or abandoned
    feedback TEXT,
    answer TEXT
);
-- One assignment of a HIT for one worker; what was given back does not count.
CREATE UNIQUE INDEX assignments_once ON assignments (hit_id, worker_id)
    WHERE status NOT IN ('Returned', 'Abandoned');
CREATE INDEX assignments_of_hit ON assignments (hit_id, status);
CREATE INDEX assignments_in_order ON assignments (hit_id, submit_number)
    WHERE submit_number IS NOT NULL;
CREATE INDEX assignments_due ON assignments (deadline) WHERE status = 'Accepted';
CREATE INDEX assignments_to_approve ON assignments (auto_approval_at) WHERE status = 'Submitted';
CREATE INDEX assignments_at_work ON assignments (worker_id, seq) WHERE status = 'Accepted';

CREATE VIEW hit_records AS
SELECT *, CASE WHEN deleted_at IS NOT NULL THEN 'Disposed'
               WHEN open_assignments > 0 AND NOT expired THEN 'Assignable'
               WHEN pending > 0 THEN 'Unassignable'
               ELSE 'Reviewable' END AS status
FROM (
    SELECT h.*, t.hit_group_id, t.title, t.description, t.keywords, t.assignment_seconds,
           t.auto_approval_seconds, t.requirements,
           (SELECT COUNT(*) FROM assignments a
            WHERE a.hit_id = h.hit_id AND a.status = 'Accepted') AS pending,
           (SELECT COUNT(*) FROM assignments a
            WHERE a.hit_id = h.hit_id AND a.status IN ('Approved', 'Rejected')) AS completed
    FROM hits h JOIN hit_types t USING (hit_type_id)
);

CREATE TABLE account (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    available INTEGER NOT NULL CHECK (available >= 0),
    on_hold INTEGER NOT NULL CHECK (on_hold >= 0),
    spent INTEGER NOT NULL CHECK (spent >= 0)
);
INSERT INTO account VALUES (1, 0, 0, 0);

CREATE TABLE money (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN
        ('deposit', 'hold', 'release', 'reward', 'fee', 'bonus', 'bonus_fee')),
    hit_id TEXT REFERENCES hits (hit_id),
    assignment_id TEXT REFERENCES assignments (assignment_id),
    available INTEGER NOT NULL,
    on_hold INTEGER NOT NULL,
    spent INTEGER NOT NULL,
    CHECK (kind = 'deposit' OR available + on_hold + spent = 0)
);
CREATE INDEX money_of_hit ON money (hit_id);
CREATE TRIGGER money_adds_up AFTER INSERT ON money BEGIN
    UPDATE account SET available = available + NEW.available,
        on_hold = on_hold + NEW.on_hold, spent = spent + NEW.spent;
END;
CREATE TRIGGER money_is_never_changed BEFORE UPDATE ON money BEGIN
    SELECT RAISE(ABORT, 'money is append-only');
END;
CREATE TRIGGER money_is_never_deleted BEFORE DELETE ON money BEGIN
    SELECT RAISE(ABORT, 'money is append-only');
END;

CREATE TABLE qualification_types (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    qualification_type_id TEXT NOT NULL UNIQUE,
    owned INTEGER NOT NULL CHECK (owned IN (0, 1)),   -- 0: the system's
    name TEXT NOT NULL,
    keywords TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('Active', 'Inactive')),
    retry_seconds INTEGER,
    created_at REAL NOT NULL
);
CREATE UNIQUE INDEX qualification_type_names ON qualification_types (name) WHERE owned = 1;

CREATE TABLE qualifications (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    qualification_type_id TEXT NOT NULL REFERENCES qualification_types (qualification_type_id),
    worker_id TEXT NOT NULL REFERENCES workers,
    value INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('Granted', 'Revoked')),
    granted_at REAL NOT NULL,
    reason TEXT,                          -- of the revocation
    UNIQUE (qualification_type_id, worker_id)
);
CREATE INDEX qualifications_of_worker ON qualifications (worker_id);

CREATE TABLE bonuses (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    hit_id TEXT NOT NULL REFERENCES hits (hit_id),
    assignment_id TEXT NOT NULL REFERENCES assignments (assignment_id),
    worker_id TEXT NOT NULL REFERENCES workers,
    cents INTEGER NOT NULL CHECK (cents > 0),
    fee_cents INTEGER NOT NULL CHECK (fee_cents > 0),
    reason TEXT NOT NULL,
    unique_request_token TEXT,
    request_id TEXT NOT NULL,
    granted_at REAL NOT NULL
);
CREATE INDEX bonuses_of_hit ON bonuses (hit_id, seq);
CREATE INDEX bonuses_of_assignment ON bonuses (assignment_id, seq);
CREATE INDEX bonuses_by_token ON bonuses (unique_request_token, granted_at)
    WHERE unique_request_token IS NOT NULL;

CREATE TABLE blocks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    worker_id TEXT NOT NULL UNIQUE REFERENCES workers,
    reason TEXT NOT NULL,
    blocked_at REAL NOT NULL
);

CREATE TABLE notifications (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    worker_id TEXT NOT NULL REFERENCES workers,
    subject TEXT NOT NULL,
    text TEXT NOT NULL,
    sent_at REAL NOT NULL
);

CREATE TABLE faults (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    operation TEXT NOT NULL,
    at REAL NOT NULL
);
