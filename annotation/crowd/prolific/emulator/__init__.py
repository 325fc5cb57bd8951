"""A local Prolific: a server and a program of its own, not a part of the application.

    python -m annotation.crowd.prolific.emulator --port 8002 --state prolific.sqlite3

To researchers it speaks Prolific's API below /api/v1, with the header `Authorization: Token local`.
To participants it offers, as JSON below /participants, what the site offers people: see studies,
take a place, open it, complete it with a code, return it, read and write messages. `http` holds
both faces and the thread that delivers events to webhooks, `operations` the rules for callers,
`state` the rules that both share. Where the documentation is undecided, `readings` names the ways
to read it. Taskflow, AI Task Builder, test participants, clones and demographic filters are not
there.

The state is one SQLite file (write-ahead log), which anyone may read while the server runs.
What falls due by time is carried out by the next call, so auditors make one before they read.
Times are seconds since 1970 in UTC. Rewards and payments are integer cents; `money` and wallets
are hundredths of a cent, in which fees are exact enough. `schema.sql` has every column:

    workspaces, projects    each workspace with its wallet: available, locked and paid
    studies                 status, places, reward; the other fields as JSON
    participants            those who have registered
    submissions             status, times, the code that was entered; `due_at` is when time decides
    payments                append-only in effect: what participants got, in cents, without fees
    money                   append-only: each row moves an amount between available, locked and
                            paid, which add up to 0 in every kind but `deposit`
    bulk_bonuses, bulk_bonus_items, bonus_runs
                            bonuses that were set up, and each call that pays them
    bulk_approvals          approvals that are carried out later
    participant_groups, members, messages
    hook_secrets, subscriptions, hook_events
                            webhooks, and each event with how its delivery went
    faults                  one row a fault that was injected: kind, operation, at (see `faults`)
"""
