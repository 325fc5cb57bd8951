"""What people do to a campaign: previewed without a trace, carried out with one."""

import pytest

from annotation.access.audit_log import by_command
from annotation.access.roles import RUN
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
