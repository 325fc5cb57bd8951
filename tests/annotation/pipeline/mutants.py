"""One wrong edit for each rule of the pipeline's steps, as in `tests/annotation/protocol/`."""

MUTANTS = {
    ("annotation/pipeline/setup/create.py", "tests/annotation/pipeline/setup/test_create.py"): (
        ("a name is given once", "filter(name=name).exists()", "filter(name=name).count() > 1"),
        ("a name is short and plain", "if not NAME.fullmatch(name):", "if not NAME.match(name):"),
        ("all or nothing", "    with transaction.atomic():", "    if True:"),
        ("the policy is an object", "if not isinstance(data, dict):", "if data is None:"),
    ),
    (
        "annotation/pipeline/setup/instructions.py",
        "tests/annotation/pipeline/setup/test_create.py",
    ): (("blank instructions", "if not text.strip():", "if not text:"),),
    ("annotation/pipeline/outbox/threads.py", "tests/annotation/pipeline/outbox/test_threads.py"): (
        ("our own record in our own thread", "if crowd.site.is_local:", "if False:"),
    ),
    ("core/files/bulk_insert.py", "tests/core/files/test_bulk_insert.py"): (
        ("every lot", "while some := [[", "if some := [["),
    ),
    (
        "annotation/pipeline/setup/default_instructions.py",
        "tests/annotation/pipeline/setup/test_default_instructions.py",
    ): (
        ("the policy's numbers", "items=_number(policy.hit_size)", "items=_number(7)"),
        ("no rejection where none is", 'on_failed_control == "reject"', 'on_failed_control != "x"'),
        (
            "a slip that ends it",
            '"One slip does not end your participation. " if slip else ""',
            '"One slip does not end your participation. "',
        ),
    ),
    (
        "annotation/pipeline/publishing/pack.py",
        "tests/annotation/pipeline/publishing/test_pack.py",
    ): (
        ("packed once", "if hits := campaign.hits.count():", "if (hits := 0):"),
        ("all or nothing", "    with transaction.atomic():\n", "    if campaign:\n"),
        ("no candidate is missing", "or total != wanted:", "or total > wanted:"),
        ("the pool's size", "pool.order_by(", "pool.filter(pk=0).order_by("),
        ("the seed decides", "policy=policy, seed=campaign.seed", "policy=policy, seed=1"),
        (
            "a key tells nothing",
            'return hashlib.sha256(f"{hit}:{position}".encode()).hexdigest()[:16]',
            'return f"{hit[-6:]}{position:08x}"',
        ),
        (
            "the policy's assignments",
            "same = (instructions, policy.annotators,",
            "same = (instructions, 3,",
        ),
        (
            "the wording in force",
            'instructions.latest("version")',
            'instructions.earliest("version")',
        ),
    ),
    (
        "annotation/pipeline/publishing/pack.py",
        "tests/annotation/pipeline/publishing/test_repack.py",
    ): (("a triplet alone", "    _check_pool_for_ties(len(positives), policy)\n", ""),),
    (
        "annotation/pipeline/controls/negatives.py",
        "tests/annotation/pipeline/publishing/test_pack.py",
    ): (
        ("held-out questions", ".exclude(question_key__in=held_out)", ""),
        (
            "a shared word is near",
            "if not self._words(first).isdisjoint(self._words(second)):",
            "if first == second:",
        ),
        ("long words alone", r"\w{5,}", r"\w{2,}"),
        ("near vectors", "> self._limit", "> 2"),
        ("as many negatives", "count=len(names), seed", "count=len(names) - 1, seed"),
        ("any order of the rows", '.order_by("pair_key")', '.order_by("pk")'),
    ),
    (
        "annotation/pipeline/publishing/publish.py",
        "tests/annotation/pipeline/publishing/test_publish.py",
    ): (
        ("an empty campaign", "if not campaign.hits.exists():", "if campaign.pk is None:"),
        ("one message a HIT", ".exclude(outbox__kind=OutboxMessage.Kind.CREATE)", ""),
        (
            "bound when the crowd has answered",
            "    check_endpoint(campaign, crowd)\n    _check_state",
            "    bind(campaign, crowd)\n    _check_state",
        ),
    ),
    (
        "annotation/pipeline/publishing/publish.py",
        "tests/annotation/pipeline/outbox/test_deliver_faults.py",
    ): (("what failed is retried", "    retry_failed(campaign)\n", ""),),
    (
        "annotation/pipeline/publishing/crowd_setup.py",
        "tests/annotation/pipeline/publishing/test_publish.py",
    ): (
        ("the balance", "if needed and needed > (", "if needed and needed > 9 * ("),
        ("the whole first round", "hits * policy.annotators * assignment", "hits * assignment"),
        ("enough is enough", "if needed and needed > (", "if needed and needed >= ("),
        ("the first binds", 'filter(pk=campaign.pk, endpoint="")', "filter(pk=campaign.pk)"),
        ("no other endpoint", 'if campaign.endpoint not in ("", endpoint):', "if not endpoint:"),
    ),
    (
        "annotation/pipeline/outbox/hit_type.py",
        "tests/annotation/pipeline/publishing/test_publish.py",
    ): (
        ("who is excluded", "exclusion_id=exclusion_id or None", "exclusion_id=None"),
        ("the time allotted", "policy.assignment_minutes * 60", "policy.assignment_minutes"),
    ),
    (
        "annotation/pipeline/publishing/crowd_setup.py",
        "tests/annotation/pipeline/outbox/test_deliver_faults.py",
    ): (("no qualification for blocks", 'policy.exclude_by == "qualification" and', ""),),
    (
        "annotation/pipeline/ledger/reservations.py",
        "tests/annotation/pipeline/ledger/test_ledger.py",
    ): (
        ("an effect of its own", ":{account.entries.count()}", ""),
        (
            "the cap has its own error",
            "        if CAP not in str(error):\n            raise\n",
            "",
        ),
        (
            "as many assignments",
            "cents=assignments * message.hit.price_cents",
            "cents=message.hit.price_cents",
        ),
        ("a place for a tie", "(policy.annotators + tie_assignments(policy))", "policy.annotators"),
        ("the undecided stay", "- undecided.get(hit.pk, 0) * hit.price_cents", ""),
        ("nothing to release", "            if rest > 0:\n", "            if True:\n"),
        ("a tie reserve is released once", ".update(tie_reserve=0)", ".update()"),
    ),
    (
        "annotation/pipeline/ledger/reservations.py",
        "tests/annotation/pipeline/whole/test_inhouse.py",
    ): (
        (
            "what costs nothing is no entry",
            "for entry in entries if entry.cents]",
            "for entry in entries]",
        ),
        ("what costs nothing is affordable", "if cents else wanted", "if cents else 0"),
    ),
    (
        "annotation/pipeline/ledger/settlements.py",
        "tests/annotation/pipeline/ledger/test_ledger.py",
    ): (
        (
            "what is not decided waits",
            "decided.exclude(status=Assignment.Status.SUBMITTED)",
            "decided.all()",
        ),
        (
            "what is not reviewed waits",
            "filter(account=Booked.RESERVED, passed__isnull=False)",
            "filter(account=Booked.RESERVED)",
        ),
        (
            "covered where nothing is reserved",
            "left[hit] >= 0 or _cover(account, pk)",
            "left[hit] >= 0",
        ),
        (
            "no cover past the budget",
            "    except OverBudget:\n        return False\n    return True",
            "    except OverBudget:\n        pass\n    return True",
        ),
        ("the excluded are discarded", "facts(excluded, ", "facts((), "),
        (
            "what failed is discarded",
            "void_reason(assignment.facts(excluded, if_paid=True))",
            "assignment.worker_id in excluded",
        ),
        ("rejected is released", "yield Booked.RELEASED,", "yield Booked.PAID,"),
        ("a bonus is booked once", ".exclude(entries__target=Place.PAID)", ""),
        ("what counts again goes back", "_counting(campaign, discarded)", "discarded"),
        ("each turn again", 'f"{account}:{turn}"', 'f"{account}"'),
    ),
    (
        "annotation/pipeline/collecting/collect.py",
        "tests/annotation/pipeline/whole/test_inhouse.py",
    ): (("workers of this crowd", "_workers(campaign.policy.crowd,", '_workers("mturk",'),),
    (
        "annotation/pipeline/publishing/outlook.py",
        "tests/annotation/pipeline/whole/test_inhouse.py",
    ): (
        (
            "where no money moves, none lacks",
            " if hit.price_cents else missing",
            " if hit.price_cents else 0",
        ),
    ),
    (
        "annotation/pipeline/publishing/publish.py",
        "tests/annotation/pipeline/publishing/test_first_batch.py",
    ): (
        ("no more than the batch", "min(unasked, max(0, most - asked))", "unasked"),
        ("so many in all", "max(0, most - asked)", "most"),
        ("what is out is out", "batch = max(most, asked)", "batch = most"),
        ("all of them are no batch", "if batch < hits else None", "if batch <= hits else None"),
        ("the batch is kept", 'campaign.save(update_fields=["first_batch"])', "pass"),
        ("a batch has a HIT", "if most is not None and most < 1:", "if most == 0:"),
        (
            "repacked HITs are beside it",
            "campaign.hits.filter(repack=False)",
            "campaign.hits.all()",
        ),
    ),
    (
        "annotation/pipeline/publishing/publish.py",
        "tests/annotation/pipeline/whole/test_inhouse.py",
    ): (("no budget for nothing", "if not first_round_cents(policy) or ", "if "),),
    ("annotation/pipeline/outbox/claims.py", "tests/annotation/pipeline/outbox/test_deliver.py"): (
        ("a claim is respected", "claimed_at__lt=since", "claimed_at__lt=now"),
        ("a claim runs out", "claimed_at__lt=since", "claimed_at=None"),
        ("the first sending counts", 'Coalesce(F("first_sent_at"), now)', "now"),
    ),
    (
        "annotation/pipeline/outbox/claims.py",
        "tests/annotation/pipeline/outbox/test_deliver_faults.py",
    ): (
        ("permanent is failed", "    if error.permanent:\n", "    if False:\n"),
        ("passing is pending", "    if error.permanent:\n", "    if True:\n"),
        (
            "a passing reason is kept",
            "state=OutboxMessage.State.PENDING, error=str(error)",
            "state=OutboxMessage.State.PENDING",
        ),
        (
            "a permanent reason is kept",
            "mine.update(state=state, error=str(error))",
            "mine.update(state=state)",
        ),
    ),
    ("annotation/pipeline/outbox/send.py", "tests/annotation/pipeline/outbox/test_deliver.py"): (
        (
            "the token's life",
            "TOKEN_LIFE = timedelta(hours=23)",
            "TOKEN_LIFE = timedelta(hours=26)",
        ),
        ("a forgotten HIT", "known.hits.get(hit.key) if is_forgotten(message, now) else", ""),
        (
            "a forgotten growth",
            "if not (is_forgotten(message, now) and _has_assignments(message, crowd, known)):",
            "if True:",
        ),
        (
            "assignments already there",
            "known.assignments.get(message.hit.pk, 0) + message",
            "message",
        ),
    ),
    (
        "annotation/pipeline/outbox/send.py",
        "tests/annotation/pipeline/outbox/test_deliver_faults.py",
    ): (
        (
            "the crowd's own approval",
            "        if status == Assignment.Status.SUBMITTED:",
            "        if True:",
        ),
        (
            "a block is a block",
            'if campaign.policy.exclude_by == "block":\n        crowd.block',
            "if False:\n        crowd.block",
        ),
    ),
    ("annotation/pipeline/outbox/send.py", "tests/annotation/pipeline/publishing/test_repack.py"): (
        (
            "who has judged is excluded",
            "excluded_workers=message.hit.excluded_workers",
            "excluded_workers=()",
        ),
        ("only the known", "known_id=campaign.known_id", 'known_id=""'),
        ("known by number", "value=worker.pk", "value=1"),
    ),
    ("annotation/pipeline/outbox/deliver.py", "tests/annotation/pipeline/outbox/test_deliver.py"): (
        ("looked up by our key", "{hit.annotation: hit.hit_id for", "{hit.hit_id: hit.hit_id for"),
        ("the status is stored", ".update(status=status)", ".update()"),
    ),
    (
        "annotation/pipeline/outbox/deliver.py",
        "tests/annotation/pipeline/outbox/test_deliver_faults.py",
    ): (
        ("an empty account buys nothing", "short or campaign.state ==", "campaign.state =="),
        ("what is sent may be bought", "state__in=UNSENT, first_sent_at=None)", "state__in=[])"),
    ),
    ("annotation/pipeline/outbox/deliver.py", "tests/annotation/pipeline/ledger/test_ledger.py"): (
        ("decisions are booked", "    settle(campaign)\n    kinds", "    kinds"),
    ),
    (
        "annotation/pipeline/collecting/collect.py",
        "tests/annotation/pipeline/collecting/test_collect.py",
    ): (
        ("only what is new is fetched", "theirs.submitted > hit.stored", "theirs.submitted"),
        ("our HITs alone", "        if hit is None:\n            continue\n", ""),
        ("what is stored stays", "if theirs.assignment_id not in known", "if True"),
    ),
    (
        "annotation/pipeline/collecting/review.py",
        "tests/annotation/pipeline/collecting/test_review.py",
    ): (
        ("order of submission", 'in_order = "submitted_at", "crowd_id"', 'in_order = ("hit",)'),
        (
            "exclusions in that order",
            'done.order_by("submitted_at", "crowd_id")',
            'done.order_by("hit")',
        ),
        ("an answer is 0 or 1", 'if value in ("0", "1")}', "if value is not None}"),
        ("an item's own answer", "fields.get(FIELD + key) for", "fields.get(key) for"),
        ("a control's right answer", "int(kind == Control.Kind.POSITIVE)", "1"),
        ("every item counts", "[item.key for item in items], cannot)", "[], cannot)"),
        (
            "what the crowd decided stays",
            "if assignment.status != Assignment.Status.SUBMITTED:",
            "if assignment.pk is None:",
        ),
        ("what fails is rejected", "rejected = not check.passed and", "rejected = False and"),
        ("what passes is approved", "rejected = not check.passed and", "rejected ="),
        ("the policy may pay", ' and campaign.policy.on_failed_control == "reject"', ""),
        ("the worker is told why", '_rejection(campaign, check) if rejected else ""', '""'),
        ("an exclusion is made once", "if int(decision.worker) not in known", "if known is None"),
        ("the crowd excludes", "[_to_exclude(campaign, exclusion) for exclusion in new]", "[]"),
        (
            "this campaign's failures",
            "filter(hit__campaign=campaign, passed__isnull",
            "filter(passed__isnull",
        ),
        ("every batch", "in_parts(waiting, BATCH)", "in_parts(waiting[:BATCH], BATCH)"),
    ),
    (
        "annotation/pipeline/collecting/review.py",
        "tests/annotation/pipeline/collecting/test_behaviour.py",
    ): (
        ("what browsers told is kept", "    record_behaviour(assignments)\n", ""),
        ("whom to write to", "if settings.CONTACT else why", "if not settings.CONTACT else why"),
    ),
    (
        "annotation/pipeline/collecting/behaviour.py",
        "tests/annotation/pipeline/collecting/test_behaviour.py",
    ): (
        ("the time that they had", "wall_ms=wall // MILLISECOND", "wall_ms=10**15"),
        ("straight lines", "is_straight(answered.answers, answered.items.keys())", "False"),
        ("the item that is meant", "answered.items[report.key]", "min(answered.items.values())"),
    ),
    (
        "annotation/pipeline/labelling/votes.py",
        "tests/annotation/pipeline/labelling/test_label.py",
    ): (
        (
            "order of submission",
            '"assignment__submitted_at", "assignment__crowd_id"',
            '"-assignment__submitted_at"',
        ),
        ("controls are not counted", "filter(triplet__isnull=False, ", "filter("),
    ),
    (
        "annotation/pipeline/labelling/votes.py",
        "tests/annotation/pipeline/whole/test_cannot_judge.py",
    ): (
        (
            "work that counts",
            'return Assignment.valid(said, *campaigns, path="assignment__")',
            "return said",
        ),
        ("as the policy says", "if not campaign.policy.cannot_judge_limit:", "if True:"),
    ),
    (
        "annotation/pipeline/collecting/review.py",
        "tests/annotation/pipeline/whole/test_cannot_judge.py",
    ): (("only where it is offered", " if allowed else set()", ""),),
    ("annotation/models/assignment.py", "tests/annotation/pipeline/labelling/test_label.py"): (
        ("the excluded have no vote", '{f"{path}worker__in": out}', '{f"{path}worker": None}'),
        (
            "what is rejected is no vote",
            '"{path}status": cls.Status.REJECTED',
            '"{path}status": ""',
        ),
    ),
    (
        "annotation/pipeline/labelling/label.py",
        "tests/annotation/pipeline/labelling/test_label.py",
    ): (
        ("the votes are counted", "votes, positive = tally.votes", "positive, votes = tally.votes"),
        (
            "a changed outcome is written",
            "if (old := Outcome._make(stored)) != right:",
            "if (old := Outcome._make(stored)).label is None:",
        ),
    ),
    (
        "annotation/pipeline/publishing/top_up.py",
        "tests/annotation/pipeline/labelling/test_label.py",
    ): (
        (
            "what is missing is bought",
            "assignments_to_request(by_extension.values(), wanting.outstanding)",
            "0",
        ),
        (
            "open assignments count",
            "by_extension.values(), wanting.outstanding",
            "by_extension.values(), 0",
        ),
        ("no HIT grows to ten", "most = CROWDED_HIT - 1 if", "most = MANY if"),
        ("a HIT of ten may grow", "if hit.max_assignments < CROWDED_HIT else MANY", ""),
        ("our count of assignments", "        hit.max_assignments += extra\n", ""),
    ),
    ("annotation/pipeline/changes.py", "tests/annotation/pipeline/test_changes.py"): (
        ("only marks seen are taken off", "filter(pk__in=some).delete()", "all().delete()"),
        ("what waits keeps its mark", "but_for is None else but_for", "but_for else ()"),
        ("one mark is enough", "self._marks.keys() - set(kept.values())", "()"),
    ),
    ("annotation/pipeline/recompute.py", "tests/annotation/pipeline/test_changes.py"): (
        ("the audit looks at all", "everything=True", "everything=False"),
        ("at rest, marks stay", "None if waiting is None else {*waiting", "{*(waiting or ())"),
    ),
    ("annotation/migrations/0007_changed_hits.py", "tests/annotation/pipeline/test_changes.py"): (
        ("a review is a change", "NEW.passed {differs} OLD.passed", "1 = 0"),
        ("a refusal is one", " OR NEW.passed AND (NEW.status", " OR 1 = 0 AND (NEW.status"),
        ("approval is none", "(NEW.status = 'rejected') <> (OLD", "NEW.status <> (OLD"),
        ("a size is one", "NEW.max_assignments <> OLD.max_assignments", "1 = 0"),
        ("what is gone is one", "NEW.gone <> OLD.gone", "1 = 0"),
        ("an end is one", "NEW.closed_at {differs} OLD.closed_at", "1 = 0"),
        ("a later end too", "NEW.gone AND NEW.expires_at", "1 = 0 AND NEW.expires_at"),
        (
            "an exclusion is one",
            '"INSERT ON annotation_exclusion", "TRUE"',
            '"INSERT ON annotation_exclusion", "1 = 0"',
        ),
        (
            "its end is one",
            '"UPDATE ON annotation_exclusion", "TRUE"',
            '"UPDATE ON annotation_exclusion", "1 = 0"',
        ),
    ),
    (
        "annotation/pipeline/publishing/top_up.py",
        "tests/annotation/pipeline/publishing/test_top_up.py",
    ): (
        ("published ones alone", " or not campaign.hit_type_id:", ":"),
        ("a campaign at rest buys nothing", "campaign.state == Campaign.State.PAUSED", "False"),
        (
            "given up, then counted",
            "    _release_tie_reserve(campaign, hits)\n    # After that",
            "    # After that",
        ),
        ("the rest of the first round", "        ask_for_affordable(campaign)", "        pass"),
        ("capped by what is left out", " or left_out(campaign)))", "))"),
        ("capped by what is unpaid", "bool(unpaid or ", "bool("),
        (
            "by the size of its own",
            "if hit.max_assignments < CROWDED",
            "if policy.annotators < CROWDED",
        ),
        ("a newer HIT goes first", "0 if wanting.superseded or", "0 if"),
        (
            "a HIT that is gone grows no more",
            "wanting.superseded or hit.gone",
            "wanting.superseded",
        ),
        ("what is gone is repacked", ' | Q(gone=True, expires_at__gt=F("closed_at"))', ""),
        ("what is over waits", "alive = Q(closed_at=None) |", "alive = Q(pk__gt=0) |"),
        ("extend mode keeps it", 'if campaign.policy.tie_mode == "extend":', "if False:"),
        ("tie reserve first", "new = extra - min(extra, hit.tie_reserve)", "new = extra"),
        ("nothing unpaid", "if new * hit.price_cents > left:", "if False:"),
        ("what is spent is gone", "        left -= new * hit.price_cents\n", ""),
        ("a tie reserve is used once", "        hit.tie_reserve -= extra - new\n", ""),
    ),
    (
        "annotation/pipeline/publishing/repack.py",
        "tests/annotation/pipeline/publishing/test_repack.py",
    ): (
        ("the rest waits", "flush=nothing_comes", "flush=True"),
        ("the rest goes at last", "flush=nothing_comes", "flush=False"),
        (
            "nobody is left to ask",
            ".update(status=Triplet.Status.UNRESOLVED)",
            ".update()",
        ),
        ("as far as the budget reaches", "regrouped.groups[:affordable]", "regrouped.groups[:1]"),
        ("earlier workers", "frozenset(earlier[pk] - out)", "frozenset()"),
        ("all are known", "        _make_known(campaign)\n", "        pass\n"),
        ("told once", "Exists(reviewed), ~Exists(sent)", "Exists(reviewed)"),
        ("fresh controls", '.order_by("used", "key")', '.order_by("key")'),
        ("marked as such", "        repack=True,\n", ""),
        (
            "excluded here too",
            "        excluded_workers=list(group.excluded_workers),\n",
            "",
        ),
        (
            "its money",
            "    book([reserve(account, message, assignments=ASSIGNMENTS) for message in "
            "messages])\n",
            "",
        ),
    ),
    (
        "annotation/pipeline/collecting/review.py",
        "tests/annotation/pipeline/publishing/test_repack.py",
    ): (("a second vote", "        votes = _first_only(votes)\n", "        pass\n"),),
    ("annotation/pipeline/advance.py", "tests/annotation/pipeline/whole/test_whole_way.py"): (
        ("finished without open votes", "not left and not is_open(campaign)", "not left"),
        (
            "what follows is sent",
            "    after = deliver(campaign, crowd, clock=clock, progress=sending)\n",
            "    after = before\n",
        ),
    ),
}
