"""What people do to a campaign: previewed without a trace, carried out with one."""

import pytest

from annotation.access.audit_log import by_command
from annotation.access.roles import PERMISSIONS, RUN
from annotation.models import AuditEntry, Campaign
from annotation.operations.operation import Operation, Options, Result, perform
from annotation.operations.registry import OPERATIONS
from annotation.pipeline.ledger.accounts import account_of
from core.errors import UserError
from tests.worlds.small_campaign import Stage

SAMPLES = {
    "dollars": "9000",
    "count": 3,
    "worker": "ada",
    "assignment": "none",
    "text": "Thank you.",
}


def test_each_act_needs_a_permission_that_an_owner_has() -> None:
    assert {operation.permission for operation in OPERATIONS.values()} <= PERMISSIONS["owner"]


def test_an_act_and_its_line_in_the_log_come_together(stage: Stage) -> None:
    result = perform(OPERATIONS["budget"], stage.campaign, {"dollars": "123.45"}, by=by_command())
    assert result["budget_cents"] == account_of(stage.campaign).budget_cents == 12345
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.campaign, entry.via) == ("budget", stage.campaign, "command")
    assert entry.details["dollars"] == "123.45"
    assert entry.details["budget_cents"] == 12345


def test_the_log_names_whom_an_act_was_done_to(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    stage.advance()
    worker = stage.campaign.hits.get(number=1).assignments.get().worker.worker_id
    options = {"worker": worker, "reason": "Enough."}
    perform(OPERATIONS["exclude"], stage.campaign, options, by=by_command())
    entry = AuditEntry.objects.get()
    assert entry.subject == worker
    assert entry.details["votes"] == 5
    assert "worker" in entry.details  # of the result: as the crowd names them


def test_an_act_that_is_refused_leaves_no_line(stage: Stage) -> None:
    with pytest.raises(UserError):
        perform(OPERATIONS["resume"], stage.campaign, {}, by=by_command())
    assert not AuditEntry.objects.exists()


def test_an_act_whose_line_cannot_be_written_is_not_done(stage: Stage) -> None:
    def pause(campaign: Campaign, options: Options) -> Result:
        Campaign.objects.filter(pk=campaign.pk).update(state="paused")
        return {"unwritable": object()}

    act = Operation("pause", "", RUN, lambda campaign, options: [], pause)
    with pytest.raises(TypeError):
        perform(act, stage.campaign, {}, by=by_command())
    stage.campaign.refresh_from_db()
    assert stage.campaign.state == "active"


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_to_preview_an_operation_changes_nothing(stage: Stage, name: str) -> None:
    stage.publish()
    before = _record(stage.campaign)
    try:
        options = {field.name: SAMPLES[field.kind] for field in OPERATIONS[name].arguments}
        sentences = OPERATIONS[name].preview(stage.campaign, options)
    except UserError as error:
        sentences = [str(error)]
    assert sentences
    assert all(sentence.endswith(".") for sentence in sentences)
    assert _record(stage.campaign) == before


def _record(campaign: Campaign) -> object:
    campaign.refresh_from_db()
    return (
        campaign.state,
        list(campaign.outbox.order_by("pk").values()),
        list(campaign.hits.order_by("pk").values()),
        account_of(campaign).__dict__["budget_cents"],
        account_of(campaign).reserved_cents,
        AuditEntry.objects.count(),
        campaign.exclusions.count(),
    )
