"""What people do beside the acts, each with its entry in the audit log, for pages and programs."""

from dataclasses import asdict
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from annotation.access.audit_log import Actor, record
from annotation.models import Campaign, Control, Pilot, Role, Suggestion
from annotation.pipeline.controls import suggest
from annotation.pipeline.controls.controls import Texts, add_positive, replace, retire
from annotation.pipeline.controls.import_controls import Imported, import_controls
from annotation.pipeline.gold.rejected_rows import known_as
from annotation.pipeline.ledger.accounts import set_budget
from annotation.pipeline.ledger.dollars import dollars
from annotation.pipeline.setup.create_pilot import condition_names, create_pilot
from annotation.pipeline.setup.instructions import Added, add_version
from annotation.protocol.estimates.cost import is_free, quote
from retrieval.corpus.withdraw import withdraw_pairs
from retrieval.models import QaPair


@transaction.atomic
def withdraw_pair(by: Actor, pair: QaPair, *, restore: bool, reason: str) -> bool:
    """Or restore it; False where it was that way already."""
    if not withdraw_pairs([pair.pair_key], restore=restore).changed:
        return False
    details = {
        "key": pair.pair_key,
        "source": pair.source,
        "id": pair.source_id,
        "reason": reason,
    }
    verb = "restore pair" if restore else "withdraw pair"
    record(by, verb, subject=f"pair {pair.pk}", details=details)
    return True


def texts_of(control: Control) -> Texts:
    return Texts(control.query, control.question, control.answer)


@transaction.atomic
def add_control(by: Actor, texts: Texts) -> Control:
    """To the pool."""
    control = add_positive(texts)
    note(by, "add-control", control, None)
    return control


@transaction.atomic
def add_controls_of(by: Actor, path: Path, name: str) -> Imported:
    """`name`: by which whoever sent the file knows it; the log has the last part of a path.

    BadRows names the rows that are none.
    """
    with known_as(path, name):
        done = import_controls(path)
    record(by, "import-controls", details={"file": Path(name).name, **asdict(done)})
    return done


@transaction.atomic
def replace_control(by: Actor, control: Control, texts: Texts) -> Control:
    new = replace(control, texts, now=timezone.now())
    note(by, "replace-control", new, control.campaign, replaces=control.pk)
    return new


@transaction.atomic
def retire_control(by: Actor, control: Control) -> None:
    retire(control, now=timezone.now())
    note(by, "retire-control", control, control.campaign)


@transaction.atomic
def confirm_suggestion(
    by: Actor, campaign: Campaign, suggestion: Suggestion, texts: Texts
) -> Control:
    control = suggest.confirm(suggestion, texts, by=by.name, now=timezone.now())
    note(by, "confirm-control", control, campaign, triplet=suggestion.triplet_id)
    return control


@transaction.atomic
def dismiss_suggestion(by: Actor, campaign: Campaign, suggestion: Suggestion) -> None:
    suggest.dismiss(suggestion, by=by.name, now=timezone.now())
    subject = f"triplet {suggestion.triplet_id}"
    record(by, "dismiss-control", campaign=campaign, subject=subject)


def note(
    by: Actor, verb: str, control: Control, campaign: Campaign | None, **details: object
) -> None:
    """With the words."""
    told = {**texts_of(control)._asdict(), **details}
    record(by, verb, campaign=campaign, subject=f"control {control.pk}", details=told)


@transaction.atomic
def save_instructions(
    by: Actor, campaign: Campaign, text: str, *, based_on: int | None = None
) -> Added:
    author = by.name if by.user else ""
    added = add_version(campaign, text, author=author, based_on=based_on)
    record(by, "instructions", campaign=campaign, details=asdict(added))
    return added


def preview_pilot(source: Campaign, name: str, *, triplets: int) -> list[str]:
    policy = source.policy
    costs = quote(triplets, policy)
    mode = costs.extend if policy.tie_mode == "extend" else costs.repack
    shown, hidden = condition_names(name)
    money = (
        "Nobody is paid by the piece."
        if is_free(policy)
        else f"A condition costs {dollars(costs.cents_min)} in the first round, about "
        f"{dollars(mode.cents)} with its ties and {dollars(costs.cents_max)} if every HIT needs "
        f"all votes; both together about {dollars(2 * mode.cents)}."
    )
    return [
        f"{triplets:,} triplets of {source} are drawn and copied into two campaigns, {shown} and "
        f"{hidden}, which differ by the answer alone.",
        f"Each condition takes {costs.hits:,} HITs, about {mode.assignments:,} assignments.",
        money,
        "Nothing is spent until you give each condition a budget and publish it.",
    ]


def make_pilot(
    by: Actor,
    source: Campaign,
    name: str,
    *,
    triplets: int,
    seed: int,
    budget_cents: int | None = None,
) -> Pilot:
    """Whoever makes it owns both conditions, if they have an account; the budget is of each."""

    def owned(pilot: Pilot) -> None:
        details = {
            "pilot": name,
            "source": source.name,
            "triplets": triplets,
            "seed": seed,
            "budget_cents": budget_cents or 0,
        }
        for condition in (pilot.shown, pilot.hidden):
            if budget_cents is not None:
                set_budget(condition, budget_cents)
            if by.user is not None:
                Role.objects.create(user=by.user, campaign=condition, name=Role.Name.OWNER)
            record(by, "pilot", campaign=condition, details=details)

    return create_pilot(source, name, triplets=triplets, seed=seed, made=owned)
