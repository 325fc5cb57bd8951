"""A local Mechanical Turk: a server and a program of its own, not a part of the application.

    python -m annotation.crowd.emulator --port 8001 --state turk.sqlite3

To requesters it speaks MTurk's wire protocol, so that an unmodified boto3 client works with
AWS_ENDPOINT_URL_MTURK set to its address. To workers it serves pages: sign in, list, accept,
the question, submit; qualifications and their tests. `http` holds those two faces, `operations`
MTurk's rules for requesters, `state` the rules that both share, `question` what needs neither.

All 39 operations answer. What says that it is not supported: layouts of HITs, review policies
(so that ListReviewPolicyResultsForHIT has no results) and answers that are files. Events are
recorded, not sent: the site's own Turk sends them.

The state is one SQLite file (write-ahead log), which anyone may read while the server runs.
What falls due by time is carried out by the next call, so auditors make one before they read.
Times are seconds since 1970 in UTC, money is integer cents. `schema.sql` has every column:

    hits                 one row a HIT: hit_id, hit_type_id, requester_annotation,
                         unique_request_token, max_assignments, open_assignments, expired,
                         expires_at, deleted_at, reviewing, kind (of the question),
                         reward_cents, fee_cents (MTurk's fee for one assignment), question (XML)
    hit_types            title, reward_cents, requirements (JSON), ... ; equal ones share an id
    hit_records          view: hits with their type, the counts of assignments and MTurk's status
    batch_rows           one row a HIT that the site made of a template: hit_id, batch, fields
                         (JSON, by the columns of the requester's table)
    extensions           one row an accepted CreateAdditionalAssignmentsForHIT, with its token
    workers              worker_id and the status that they signed in with
    assignments          assignment_id, hit_id, worker_id, status, accepted_at, deadline,
                         submitted_at, submit_number (1, 2, 3 ... in order of submission),
                         auto_approval_at (when the sweep approves what nobody has decided),
                         approved_at, rejected_at, ended_at, feedback, answer (XML);
                         status: Accepted, Submitted, Approved, Rejected, Returned, Abandoned
    money                append-only: each row moves cents between available, on_hold and spent,
                         which add up to 0 in every kind but `deposit`; kinds: deposit, hold,
                         release, reward, fee, bonus, bonus_fee
    account              one row, the sums of `money`, kept by a trigger; none may be negative
    bonuses              one row an accepted SendBonus: assignment_id, worker_id, cents, fee_cents,
                         reason, unique_request_token, granted_at
    blocks               workers who can accept nothing, each with the reason
    notifications        one row a message and worker: worker_id, subject, text, sent_at
    faults               one row a fault that was injected: kind, operation, at (see `faults`)
    qualification_types  the system's and the requester's own
    qualifications       value and status (Granted, Revoked) of a worker for a requester's type
    qualification_requests  one row a request of a worker: status (Started and Abandoned are of its
                         test; Pending, Granted, Rejected), test and answer (XML), reason
    notification_settings  of which events of a HIT type a requester wants to hear, and where
    events               append-only, one row an event that somebody wants to hear of: event_id
                         (for a message's EventDocId), event_type, at, hit_type_id, hit_id,
                         assignment_id (of an assignment's event), and where it is to go:
                         destination, transport (SQS, SNS, Email), version. Of a test without
                         HIT. Who delivers them keeps the seq of the last one.
"""
