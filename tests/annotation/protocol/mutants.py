"""One wrong edit for each rule of the protocol; `make mutants` shows that a test notices each.

(source, test file): (the rule, a snippet that stands in the source once, its replacement)
"""

COPIES = (
    "annotation/__init__.py",
    "annotation/protocol",
    "tests/__init__.py",
    "tests/annotation/__init__.py",
    "tests/annotation/protocol",
)
# The rules need no Django, and an environment that names settings must not bring it in.
ARGUMENTS = ("-p", "no:django")

MUTANTS = {
    ("policy.py", "test_policy.py"): (
        ("the paper's default", "_number(0, 1)] = 0.10", "_number(0, 1)] = 0.11"),
        (
            "a range's lower end",
            "_is_whole(value) and least <= value",
            "_is_whole(value) and least < value",
        ),
        (
            "a range's upper end",
            "_is_number(value) and least <= value <= most",
            "_is_number(value)",
        ),
        ("true is no number", " and not isinstance(value, bool)", ""),
        ("a text is not blank", "bool(value.strip()) and ", ""),
        ("unknown fields are refused", "faults = unknown + _faults", "faults = _faults"),
        ("all faults at once", "faults = unknown + _faults", "faults = unknown or _faults"),
        (
            "code is checked as files are",
            "= _faults(asdict(self))",
            "= _faults(Policy().to_dict())",
        ),
        ("room for a real triplet", "if controls < hit_size:", "if controls <= hit_size:"),
        ("negative controls take room", " - self.negative_controls", ""),
        ("max_votes >= annotators", "if max_votes < annotators:", "if max_votes <= annotators:"),
        ("no HIT grows to ten", "CROWDED_HIT <= max_votes:", "CROWDED_HIT < max_votes:"),
        ("shares or counts", "for size in sizes}) > 1:", "for size in sizes}) > 2:"),
        ("shares sum to one", "abs(total - 1) >", "total - 1 >"),
        ("the tolerance is inclusive", "abs(total - 1) >", "abs(total - 1) >="),
        ("counts are not all zero", "if total == 0:", "if total < 0:"),
        ("a canonical digest", "sort_keys=True", "sort_keys=False"),
    ),
    ("packing.py", "test_packing.py"): (
        (
            "hits_needed rounds up",
            "return -(-triplets // policy.real_items)",
            "return triplets // policy.real_items",
        ),
        (
            "different queries in a HIT",
            "itertools.groupby(order, key=lambda triplet: triplet.query)",
            "itertools.groupby(order, key=lambda triplet: 0)",
        ),
        ("most left go first", "heap = [(-len(stack)", "heap = [(len(stack)"),
        (
            "ties fall at random",
            "-len(stacks[number]), rng.random()",
            "-len(stacks[number]), number",
        ),
        (
            "a long query is shared out",
            "range(0, len(own), hits)",
            "range(0, len(own), len(triplets))",
        ),
        ("ranks are mixed", "rng.shuffle(own)", "own.sort(key=lambda triplet: triplet.rank)"),
        ("positives are shuffled", "rng.shuffle(order)\n    return order", "return order"),
        ("positives are used evenly", "_shuffled(positives, rng)", "_shuffled(positives, rng)[1:]"),
        (
            "one positive in each HIT",
            "turns, policy.positive_controls + filling",
            "turns, 2 * policy.positive_controls + filling",
        ),
        (
            "one negative in each HIT",
            "turns, policy.negative_controls + filling",
            "turns, 2 * policy.negative_controls + filling",
        ),
        ("a short HIT is filled up", "filling = policy.real_items - len(real)", "filling = 0"),
        (
            "fillings alternate",
            "policy.positive_controls + filling // 2",
            "policy.positive_controls + filling",
        ),
        (
            "fillings need negatives",
            "policy.negative_controls + filling - filling // 2\n",
            "policy.negative_controls\n",
        ),
        ("fillings need positives", " + _empty_places(triplets, policy) // 2", ""),
        (
            "the pool's size is enough",
            "max(min(hits, policy.control_pool_size), in",
            "max(hits, in",
        ),
        ("the pool serves every HIT", "max(min(hits, policy.control_pool_size), in", "max(0, in"),
        (
            "a small pool is refused",
            "if len(positives) < needed:",
            "if len(positives) < needed - 1:",
        ),
        (
            "few negatives are refused",
            "if len(negatives) < needed:",
            "if len(negatives) < needed - 1:",
        ),
        ("no triplet twice", '"triplets", [triplet.key for', '"triplets", [] and [triplet.key for'),
        ("the seed decides the order", "_random(seed).shuffle(order)", "order.reverse()"),
        ("each HIT has its own seed", "hit_seed = rng.getrandbits(48)", "hit_seed = seed"),
    ),
    ("packing.py", "test_packing_properties.py"): (
        ("every triplet once", "stacks[number].pop() for", "stacks[number][-1] for"),
        ("most left go first again", "(-len(stacks[number])", "(len(stacks[number])"),
        ("any order of triplets", "(triplet.query, triplet.rank, triplet.key)", "triplet.query"),
        ("any order of the pool", "order = sorted(keys)", "order = list(keys)"),
    ),
    ("packing.py", "test_negatives.py"): (
        ("no pair twice", "if (query, question) in tried:", "if query == question:"),
        ("a negative is not near", "if not too_near(query, question):", "if query != question:"),
        ("as many as asked", "while len(drawn) < count and", "while len(drawn) <= count and"),
        ("too few are an error", "if len(drawn) < count:", "if not drawn:"),
        ("a copy is no other question", "sorted(set(questions))", "sorted(questions)"),
    ),
    ("control.py", "test_control.py"): (
        ("a missed control fails", "answered[key] != right", "answered[key] > right"),
        ("one miss is enough", "(not missed and not", "(len(missed) < 2 and not"),
        ("an unanswered item fails", "(not missed and not unanswered,", "(not missed,"),
        ("real items are answered too", "{*items, *expected}", "{*expected}"),
        ("an answer is 0 or 1", "if value in (0, 1)", "if value >= 0"),
    ),
    ("blacklist.py", "test_blacklist.py"): (
        ("strictly more", "if failures[worker] > most", "if failures[worker] >= most"),
        ("min_assignments", "< policy.min_assignments:", "<= policy.min_assignments:"),
        ("a newcomer's first slip", " or reviewed[worker] < policy.min_assignments:", ":"),
        ("figures at the crossing", "if worker in decisions or", "if"),
        (
            "permanent once crossed",
            "list(decisions.values())",
            "[d for w, d in decisions.items() if failures[w] > most * reviewed[w]]",
        ),
        ("failures count", "+= not review.passed", "+= review.passed"),
        ("own reviews alone", "> most * reviewed[worker]:", "> most * (position + 1):"),
        (
            "the rate as written",
            "Fraction(str(policy.max_failure_rate))",
            "Fraction(policy.max_failure_rate)",
        ),
    ),
    ("vote.py", "test_vote.py"): (
        (
            "annotators at least",
            "if len(votes) < policy.annotators:",
            "if len(votes) < policy.annotators - 1:",
        ),
        ("votes wanted at first", "policy.annotators - len(votes))", "1)"),
        ("strict majority", "if positive != negative:", "if positive >= negative:"),
        ("the majority's value", "int(positive > negative)", "int(positive >= 2)"),
        ("all votes count", "positive = sum(votes)", "positive = sum(votes[:3])"),
        ("max_votes", "if len(votes) < policy.max_votes:", "if len(votes) <= policy.max_votes:"),
        ("a tie buys one vote", '(None, "open", 1)', '(None, "open", 2)'),
        ("never a silent default", '(None, "unresolved", 0)', '(0, "labelled", 0)'),
        ("a vote is 0 or 1", "vote not in (0, 1)", "vote < 0"),
        ("the neediest triplet", "max(wanted, default=0)", "sum(wanted)"),
        ("outstanding places count", "default=0) - outstanding)", "default=0))"),
        ("no negative places", "max(0, max(wanted, default=0)", "max(-9, max(wanted, default=0)"),
    ),
    ("agreement.py", "test_agreement.py"): (
        ("agreement is equality", "first == second", "first <= second"),
        ("no agreement of nothing", "return None\n    return sum(", "return 0.0\n    return sum("),
        ("no kappa of one value", "for vote in pair}) < 2:", "for vote in pair}) < 1:"),
        ("kappa of two values", "for vote in pair}) < 2:", "for vote in pair}) < 3:"),
        ("the second votes count", "score(first, second)", "score(first, first)"),
    ),
    ("cost.py", "test_cost.py"): (
        ("fees round half up", "percent + 50) // 100", "percent + 49) // 100"),
        ("fees are not cut off", "percent + 50) // 100", "percent) // 100"),
        ("at least a cent", "max(1, (reward_cents", "max(0, (reward_cents"),
        (
            "a fee's parts round apart",
            "sum(max(1, (reward_cents * percent + 50) // 100) for percent in percents)",
            "max(1, (reward_cents * sum(percents) + 50) // 100)",
        ),
        ("the Masters' fee", "if masters:", "if not masters:"),
        ("ten places pay more", "if assignments >= CROWDED_HIT:", "if assignments > CROWDED_HIT:"),
        ("extend: a tie in five", "agreed**policy.real_items", "agreed**policy.hit_size"),
        ("repack: the tied share", "tied_share = 1 - agreed", "tied_share = agreed"),
        ("odd votes never tie", "policy.annotators % 2 == 0 and ", ""),
        ("no tie-break at max_votes", " and policy.max_votes > policy.annotators", ""),
        ("expectations round up", "math.ceil(", "math.floor("),
        ("the agreement as written", "Fraction(str(agreement))", "Fraction(agreement)"),
        ("the reward is paid", "return policy.reward_cents + fee", "return fee"),
        (
            "cents_max buys max_votes",
            "hits * policy.max_votes * price",
            "hits * policy.annotators * price",
        ),
    ),
}
