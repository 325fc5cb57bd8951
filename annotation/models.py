"""What is stored of a campaign. The crowd's assignment record is the only source of votes."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import F, Q

from annotation.protocol.policy import Policy
from retrieval.models import Candidate, QuerySet


class Campaign(models.Model):
    """One run of the protocol over one set of held-out queries."""

    class State(models.TextChoices):
        ACTIVE = "active"
        PAUSED = "paused"  # by hand: nothing more is bought
        CAPPED = "capped"  # at its budget: goes on by itself when the cap is raised
        CANCELLED = "cancelled"  # for good: what is out there is withdrawn

    name = models.SlugField(max_length=60, unique=True)
    # Tells this campaign's HITs and tokens from those of any other database on the same account.
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    query_set = models.OneToOneField(QuerySet, on_delete=models.PROTECT, related_name="campaign")
    policy_data = models.JSONField()
    seed = models.BigIntegerField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.ACTIVE)
    # The record of votes has changed in a way that the stored labels do not show yet.
    labels_stale = models.BooleanField(default=False)
    endpoint = models.CharField(max_length=200, blank=True)  # set at the first publication
    hit_type_id = models.CharField(max_length=64, blank=True)
    exclusion_id = models.CharField(max_length=64, blank=True)
    known_id = models.CharField(max_length=64, blank=True)  # held by workers with reviewed work
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name

    @property
    def policy(self) -> Policy:
        return Policy.from_dict(self.policy_data)


class Instructions(models.Model):
    """A version of the wording that annotators read; never edited, only superseded."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="instructions")
    version = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        verbose_name_plural = "instructions"
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "version"], name="one_text_per_instructions_version"
            )
        ]

    def __str__(self) -> str:
        return f"{self.campaign} instructions {self.version}"


class Control(models.Model):
    """A triplet whose answer is known: positives from the shared pool, negatives per campaign."""

    class Kind(models.TextChoices):
        POSITIVE = "positive"
        NEGATIVE = "negative"

    kind = models.CharField(max_length=8, choices=Kind.choices)
    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, null=True, blank=True, related_name="controls"
    )
    key = models.CharField(max_length=64)
    query = models.TextField()
    question = models.TextField()
    answer = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["key"], condition=Q(campaign=None), name="one_control_per_pool_key"
            ),
            models.UniqueConstraint(
                fields=["campaign", "key"], name="one_control_per_campaign_key"
            ),
            models.CheckConstraint(
                condition=Q(kind="positive", campaign=None)
                | Q(kind="negative", campaign__isnull=False),
                name="pool_is_positive_campaign_is_negative",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} control {self.key}"

    @property
    def expected(self) -> int:
        return int(self.kind == self.Kind.POSITIVE)


class Triplet(models.Model):
    """A candidate to be judged, with the label derived from its valid votes."""

    class Status(models.TextChoices):
        OPEN = "open"
        LABELLED = "labelled"
        UNRESOLVED = "unresolved"

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="triplets")
    candidate = models.OneToOneField(Candidate, on_delete=models.PROTECT, related_name="triplet")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)
    label = models.SmallIntegerField(null=True, blank=True)
    votes = models.PositiveSmallIntegerField(default=0)
    positive_votes = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status="labelled", label__in=[0, 1])
                | (~Q(status="labelled") & Q(label=None)),
                name="a_label_where_and_only_where_labelled",
            ),
            models.CheckConstraint(
                condition=Q(positive_votes__lte=F("votes")), name="positive_votes_among_the_votes"
            ),
        ]
        # progress counts a campaign's triplets by status
        indexes = [models.Index(fields=["campaign", "status"], name="triplets_by_status")]

    def __str__(self) -> str:
        return f"triplet {self.pk}"


class Hit(models.Model):
    """Seven items for one sitting. `crowd_id` is empty until the crowd has it."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="hits")
    key = models.CharField(max_length=64, unique=True)
    number = models.PositiveIntegerField()
    seed = models.BigIntegerField()
    instructions = models.ForeignKey(Instructions, on_delete=models.PROTECT)
    places = models.PositiveSmallIntegerField()  # assignments asked for so far
    price_cents = models.PositiveIntegerField()  # of one approved assignment, the fee included
    # Places for the breaking of ties: their money is reserved, they are not asked for yet.
    spare = models.PositiveSmallIntegerField(default=0)
    repack = models.BooleanField(default=False)  # triplets of other HITs, to be judged once more
    barred = models.JSONField(default=list, blank=True)  # primary keys of their earlier workers
    crowd_id = models.CharField(max_length=64, null=True, blank=True, unique=True)
    published_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)  # then nobody can accept it any more
    closed_at = models.DateTimeField(null=True, blank=True)  # since then nobody can hand it in
    gone = models.BooleanField(default=False)  # the crowd does not know it any more
    fault = models.TextField(blank=True)  # why its record could not be read
    fault_at = models.DateTimeField(null=True, blank=True)  # since then

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="one_hit_per_number")
        ]

    def __str__(self) -> str:
        return self.key


class HitItem(models.Model):
    """One of a HIT's items: a triplet to judge or a control."""

    hit = models.ForeignKey(Hit, on_delete=models.CASCADE, related_name="items")
    position = models.PositiveSmallIntegerField()
    key = models.CharField(max_length=32, unique=True)  # the only name a worker's browser sees
    triplet = models.ForeignKey(
        Triplet, on_delete=models.PROTECT, null=True, blank=True, related_name="items"
    )
    control = models.ForeignKey(
        Control, on_delete=models.PROTECT, null=True, blank=True, related_name="items"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["hit", "position"], name="one_item_per_position"),
            models.UniqueConstraint(fields=["hit", "triplet"], name="a_triplet_once_per_hit"),
            models.CheckConstraint(
                condition=Q(triplet=None, control__isnull=False)
                | Q(triplet__isnull=False, control=None),
                name="an_item_is_a_triplet_or_a_control",
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Worker(models.Model):
    """A person as a crowd names them."""

    crowd = models.CharField(max_length=20)
    worker_id = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["crowd", "worker_id"], name="one_row_per_worker")
        ]

    def __str__(self) -> str:
        return self.worker_id


class Assignment(models.Model):
    """One worker's work on one HIT, as the crowd recorded it, and what our review found."""

    class Status(models.TextChoices):
        SUBMITTED = "submitted"
        APPROVED = "approved"
        REJECTED = "rejected"

    class Booked(models.TextChoices):
        RESERVED = "", "reserved"
        PAID = "paid"
        DISCARDED = "discarded"  # paid, its votes do not count
        RELEASED = "released"

    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, related_name="assignments")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="assignments")
    crowd_id = models.CharField(max_length=64, unique=True)
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.SUBMITTED)
    accepted_at = models.DateTimeField()
    submitted_at = models.DateTimeField()
    answers = models.JSONField()  # form field -> value, unchecked
    passed = models.BooleanField(null=True)  # None: not reviewed yet
    # Where the money of its place is: reserved until the decision is known.
    account = models.CharField(max_length=9, choices=Booked.choices, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["hit", "worker"], name="one_assignment_per_worker")
        ]
        indexes = [
            # review asks for what is not yet reviewed, in order of submission
            models.Index(
                fields=["submitted_at"], condition=Q(passed=None), name="assignments_to_review"
            ),
            # the ledger asks for what was decided and is not booked yet
            models.Index(
                fields=["hit"],
                condition=Q(account="") & ~Q(status="submitted"),
                name="assignments_to_book",
            ),
        ]

    def __str__(self) -> str:
        return self.crowd_id


class Judgment(models.Model):
    """One worker's 0 or 1 on one item."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="judgments")
    item = models.ForeignKey(HitItem, on_delete=models.PROTECT, related_name="judgments")
    # The item's: a triplet may stand in several HITs, and nobody judges it twice. None: a control.
    triplet = models.ForeignKey(
        Triplet, on_delete=models.PROTECT, null=True, blank=True, related_name="judgments"
    )
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="judgments")
    value = models.SmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "worker"], name="one_judgment_per_worker"),
            models.UniqueConstraint(fields=["triplet", "worker"], name="a_triplet_once_per_worker"),
            models.CheckConstraint(condition=Q(value__in=[0, 1]), name="a_judgment_is_0_or_1"),
        ]

    def __str__(self) -> str:
        return f"{self.value}"


class Exclusion(models.Model):
    """A worker shut out of a campaign; none of their votes counts in it."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="exclusions")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="exclusions")
    failures = models.PositiveIntegerField()  # when the rate was crossed
    reviewed = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    restored_at = models.DateTimeField(null=True, blank=True)  # taken back by hand

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "worker"],
                condition=Q(restored_at=None),
                name="excluded_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.worker} failed {self.failures} of {self.reviewed}"


class Intent(models.Model):
    """A call to the crowd that is to be made, was perhaps made, or is done: written before it."""

    class Kind(models.TextChoices):
        CREATE = "create"
        EXTEND = "extend"
        APPROVE = "approve"
        REJECT = "reject"
        EXCLUDE = "exclude"
        READMIT = "readmit"  # an exclusion taken back
        KNOW = "know"  # the worker gets the qualification that repacked HITs ask for
        LIFETIME = "lifetime"  # the HIT expires at another time
        BONUS = "bonus"

    class State(models.TextChoices):
        PENDING = "pending"
        CLAIMED = "claimed"
        DONE = "done"
        FAILED = "failed"
        WITHDRAWN = "withdrawn"  # not wanted any more, and without effect at the crowd

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="intents")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    token = models.CharField(max_length=64, unique=True)
    hit = models.ForeignKey(
        Hit, on_delete=models.CASCADE, null=True, blank=True, related_name="intents"
    )
    assignment = models.ForeignKey(
        Assignment, on_delete=models.CASCADE, null=True, blank=True, related_name="intents"
    )
    worker = models.ForeignKey(
        Worker, on_delete=models.CASCADE, null=True, blank=True, related_name="intents"
    )
    places = models.PositiveSmallIntegerField(default=0)  # what create or extend asks for
    cents = models.PositiveIntegerField(default=0)  # what a bonus gives
    expires_at = models.DateTimeField(null=True, blank=True)  # what lifetime sets
    reason = models.TextField(blank=True)  # what the worker is told
    state = models.CharField(max_length=9, choices=State.choices, default=State.PENDING)
    claim = models.CharField(max_length=32, blank=True)  # who has it
    claimed_at = models.DateTimeField(null=True, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)  # not before
    first_sent_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        # deliver looks for what is still to be sent
        indexes = [
            models.Index(
                fields=["campaign", "id"],
                condition=Q(state__in=["pending", "claimed"]),
                name="intents_to_deliver",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"


class Account(models.Model):
    """A campaign's money in cents; kept by a trigger from its entries, which alone are written."""

    campaign = models.OneToOneField(Campaign, on_delete=models.PROTECT, related_name="account")
    budget_cents = models.BigIntegerField(default=0)
    reserved_cents = models.BigIntegerField(default=0)
    paid_cents = models.BigIntegerField(default=0)
    discarded_cents = models.BigIntegerField(default=0)  # paid, but the work does not count

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    budget_cents__gte=F("reserved_cents") + F("paid_cents") + F("discarded_cents")
                ),
                name="never_over_budget",
            ),
            models.CheckConstraint(
                condition=Q(reserved_cents__gte=0, paid_cents__gte=0, discarded_cents__gte=0),
                name="no_money_out_of_nothing",
            ),
        ]

    def __str__(self) -> str:
        return f"account of {self.campaign}"

    @property
    def spent_cents(self) -> int:
        return self.paid_cents + self.discarded_cents

    @property
    def available_cents(self) -> int:
        return self.budget_cents - self.reserved_cents - self.spent_cents


class Entry(models.Model):
    """Cents moved from one place to another: append-only, which triggers see to."""

    class Place(models.TextChoices):
        FUNDS = "funds"  # outside: where a budget comes from
        AVAILABLE = "available"
        RESERVED = "reserved"
        PAID = "paid"
        DISCARDED = "discarded"

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="entries")
    key = models.CharField(max_length=120, unique=True)  # one effect is booked once
    source = models.CharField(max_length=9, choices=Place.choices)
    target = models.CharField(max_length=9, choices=Place.choices)
    cents = models.PositiveBigIntegerField()
    hit = models.ForeignKey(
        Hit, on_delete=models.PROTECT, null=True, blank=True, related_name="entries"
    )
    assignment = models.ForeignKey(
        Assignment, on_delete=models.PROTECT, null=True, blank=True, related_name="entries"
    )
    intent = models.ForeignKey(
        Intent, on_delete=models.PROTECT, null=True, blank=True, related_name="entries"
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "entries"
        constraints = [
            models.CheckConstraint(condition=Q(cents__gt=0), name="an_entry_moves_money"),
            models.CheckConstraint(condition=~Q(source=F("target")), name="an_entry_has_two_sides"),
        ]

    def __str__(self) -> str:
        return f"{self.cents} from {self.source} to {self.target}"
