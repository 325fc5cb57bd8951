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
    created_at REAL NOT NULL,
    deleted_at REAL                       -- with a qualification type that it requires
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
    reviewing INTEGER NOT NULL DEFAULT 0 CHECK (reviewing IN (0, 1)),
    created_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    expired_at REAL,                      -- set while it is expired
    extended_at REAL,                     -- when it last got more assignments or time
    reward_cents INTEGER NOT NULL,
    fee_cents INTEGER NOT NULL,           -- for one assignment
    kind TEXT NOT NULL CHECK (kind IN ('ExternalQuestion', 'HTMLQuestion', 'QuestionForm')),
    external_url TEXT,                    -- of an ExternalQuestion
    frame_height INTEGER NOT NULL,
    deleted_at REAL,                      -- shown as Disposed since, and in no list
    question TEXT NOT NULL,               -- last: it is long, and lists do not read it
    CHECK ((kind = 'ExternalQuestion') = (external_url IS NOT NULL))
);
CREATE INDEX hits_of_type ON hits (hit_type_id, seq);
-- The worker's list walks this one: HITs drop out when they fill up or expire.
CREATE INDEX hits_open ON hits (seq) WHERE open_assignments > 0 AND expired = 0;
CREATE INDEX hits_to_expire ON hits (expires_at) WHERE expired = 0;
CREATE INDEX hits_by_token ON hits (unique_request_token, created_at)
    WHERE unique_request_token IS NOT NULL;

-- Of the HITs that were made from a template: which row of which table fills it.
CREATE TABLE IF NOT EXISTS batch_rows (
    hit_id TEXT PRIMARY KEY REFERENCES hits (hit_id),
    batch TEXT NOT NULL,
    fields TEXT NOT NULL                  -- JSON object: the value of each column
);
CREATE INDEX IF NOT EXISTS batch_rows_of_batch ON batch_rows (batch);

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

CREATE INDEX assignments_of_worker ON assignments (worker_id, status);

CREATE VIEW hit_records AS
SELECT *, CASE WHEN deleted_at IS NOT NULL THEN 'Disposed'
               WHEN open_assignments > 0 AND NOT expired THEN 'Assignable'
               WHEN pending > 0 THEN 'Unassignable'
               WHEN reviewing THEN 'Reviewing'
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
    retry_seconds INTEGER,                -- NULL: a worker may ask once
    test TEXT,                            -- QuestionForm
    answer_key TEXT,
    test_seconds INTEGER,
    auto_granted INTEGER NOT NULL DEFAULT 0 CHECK (auto_granted IN (0, 1)),
    auto_granted_value INTEGER NOT NULL DEFAULT 1,
    created_at REAL NOT NULL,
    deleted_at REAL,
    CHECK (test IS NULL OR NOT auto_granted),
    CHECK ((test IS NULL) = (test_seconds IS NULL))
);
CREATE UNIQUE INDEX qualification_type_names ON qualification_types (name)
    WHERE owned = 1 AND deleted_at IS NULL;

-- A worker who asks for it says so, and has it at once: nobody can say it for them.
INSERT OR IGNORE INTO qualification_types (qualification_type_id, owned, name, keywords,
    description, status, auto_granted, created_at)
VALUES ('00000000000000000060', 0, 'Worker_Adult', '',
    'You are at least 18 years old, and agree to see content that may offend.', 'Active', 1,
    unixepoch());

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

CREATE TABLE qualification_requests (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    qualification_request_id TEXT NOT NULL UNIQUE,
    qualification_type_id TEXT NOT NULL REFERENCES qualification_types (qualification_type_id),
    worker_id TEXT NOT NULL REFERENCES workers,
    status TEXT NOT NULL CHECK (status IN
        ('Started', 'Abandoned', 'Pending', 'Granted', 'Rejected')),
    requested_at REAL NOT NULL,
    deadline REAL,                        -- of the test
    test TEXT,                            -- as it was when the worker began
    answer_key TEXT,
    answer TEXT,                          -- QuestionFormAnswers
    submitted_at REAL,                    -- without a test: when it was requested
    decided_at REAL,
    reason TEXT                           -- of the rejection
);
CREATE UNIQUE INDEX qualification_requests_once
    ON qualification_requests (qualification_type_id, worker_id)
    WHERE status IN ('Started', 'Pending');
CREATE INDEX qualification_requests_of_worker
    ON qualification_requests (worker_id, qualification_type_id, seq);
CREATE INDEX qualification_requests_pending ON qualification_requests (seq)
    WHERE status = 'Pending';
CREATE INDEX qualification_requests_due ON qualification_requests (deadline)
    WHERE status = 'Started';

CREATE TABLE bonuses (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    hit_id TEXT NOT NULL REFERENCES hits (hit_id),
    assignment_id TEXT NOT NULL REFERENCES assignments (assignment_id),
    worker_id TEXT NOT NULL REFERENCES workers,
    cents INTEGER NOT NULL CHECK (cents > 0),
    fee_cents INTEGER NOT NULL CHECK (fee_cents >= 0),
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

CREATE TABLE notification_settings (
    hit_type_id TEXT PRIMARY KEY REFERENCES hit_types,
    destination TEXT NOT NULL,
    transport TEXT NOT NULL CHECK (transport IN ('Email', 'SQS', 'SNS')),
    version TEXT NOT NULL,
    event_types TEXT NOT NULL,            -- JSON list
    active INTEGER NOT NULL CHECK (active IN (0, 1))
);

CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE DEFAULT (upper(hex(randomblob(15)))),
    event_type TEXT NOT NULL,
    at REAL NOT NULL,
    hit_type_id TEXT REFERENCES hit_types,    -- these three: NULL in a test
    hit_id TEXT REFERENCES hits (hit_id),
    assignment_id TEXT REFERENCES assignments (assignment_id),
    destination TEXT NOT NULL,            -- this and the rest: as the settings were
    transport TEXT NOT NULL,
    version TEXT NOT NULL
);
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events BEGIN
    SELECT RAISE(ABORT, 'events is append-only');
END;
CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events BEGIN
    SELECT RAISE(ABORT, 'events is append-only');
END;

-- What happens goes here, from the rows themselves so that nothing is forgotten; what the
-- requester wants to hear of becomes an event.
CREATE VIEW happenings AS
SELECT hit_id, NULL AS assignment_id, NULL AS event_type, NULL AS at FROM hits;
CREATE TRIGGER happenings_wanted INSTEAD OF INSERT ON happenings BEGIN
    INSERT INTO events (event_type, at, hit_type_id, hit_id, assignment_id, destination,
                        transport, version)
    SELECT NEW.event_type, NEW.at, h.hit_type_id, h.hit_id, NEW.assignment_id, s.destination,
           s.transport, s.version
    FROM hits h JOIN notification_settings s USING (hit_type_id)
    WHERE h.hit_id = NEW.hit_id AND s.active
      AND EXISTS (SELECT 1 FROM json_each(s.event_types) WHERE value = NEW.event_type);
END;
CREATE TRIGGER hit_created AFTER INSERT ON hits BEGIN
    INSERT INTO happenings VALUES (NEW.hit_id, NULL, 'HITCreated', NEW.created_at);
END;
CREATE TRIGGER hit_extended AFTER UPDATE OF extended_at ON hits BEGIN
    INSERT INTO happenings VALUES (NEW.hit_id, NULL, 'HITExtended', NEW.extended_at);
END;
CREATE TRIGGER hit_disposed AFTER UPDATE OF deleted_at ON hits BEGIN
    INSERT INTO happenings VALUES (NEW.hit_id, NULL, 'HITDisposed', NEW.deleted_at);
END;
CREATE TRIGGER hit_expired AFTER UPDATE OF expired_at ON hits
WHEN NEW.expired_at IS NOT NULL BEGIN
    INSERT INTO happenings VALUES (NEW.hit_id, NULL, 'HITExpired', NEW.expired_at);
    INSERT INTO happenings SELECT hit_id, NULL, 'HITReviewable', NEW.expired_at FROM hit_records
    WHERE hit_id = NEW.hit_id AND open_assignments > 0 AND status = 'Reviewable';
END;
CREATE TRIGGER assignment_accepted AFTER INSERT ON assignments BEGIN
    INSERT INTO happenings
    VALUES (NEW.hit_id, NEW.assignment_id, 'AssignmentAccepted', NEW.accepted_at);
END;
CREATE TRIGGER assignment_changed AFTER UPDATE OF status ON assignments BEGIN
    INSERT INTO happenings
    VALUES (NEW.hit_id, NEW.assignment_id, 'Assignment' || NEW.status,
            CASE NEW.status WHEN 'Submitted' THEN NEW.submitted_at
                            WHEN 'Approved' THEN NEW.approved_at
                            WHEN 'Rejected' THEN NEW.rejected_at
                            ELSE NEW.ended_at END);
    INSERT INTO happenings
    SELECT hit_id, NULL, 'HITReviewable', COALESCE(NEW.submitted_at, NEW.ended_at)
    FROM hit_records
    WHERE OLD.status = 'Accepted' AND hit_id = NEW.hit_id AND status = 'Reviewable';
END;
