"""Whether a team is large enough for what its campaign asks of it. Pure."""

from annotation.protocol.estimates.cost import tie_assignments
from annotation.protocol.policy.policy import Policy

ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth"}
COUNTS = {1: "One judgment", 2: "Two judgments", 3: "Three judgments"}


def too_few_people(people: int, policy: Policy) -> str | None:
    """What will stand still, in a sentence: nobody judges an item twice."""
    wanted = policy.annotators
    if people < wanted:
        judgments = COUNTS.get(wanted, f"{wanted} judgments")
        verb, persons = ("needs", "person") if wanted == 1 else ("need", "people")
        more = f", and ties {_for_ties(policy)}" if tie_assignments(policy) else ""
        return f"{judgments} per item {verb} {wanted} {persons}{more}; the team has {people}."
    if people < wanted + tie_assignments(policy):
        return f"Ties need {_for_ties(policy)}; the team has {people}."
    return None


def _for_ties(policy: Policy) -> str:
    next_one = policy.annotators + 1
    person = f"a {ORDINALS.get(next_one, f'{next_one}th')} person"
    expert = " or an expert's decision" if policy.adjudication == "decide" else ""
    return f"{person}{expert}"
