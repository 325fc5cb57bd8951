"""Workers in what people write and read: of one's own people the user name, of a panel's its ID."""

from annotation.crowd.inhouse.members import id_of, user_names
from annotation.crowd.inhouse.visits import participants_called
from annotation.models import Campaign
from annotation.operations.operation import Result


def worker_of(campaign: Campaign, name: str) -> str:
    """The worker's id at the crowd, which people may be better known without."""
    traits = campaign.policy.crowd_traits
    if not traits.by_link:
        return id_of(name) if traits.has_accounts else name
    called = participants_called(name, campaign.hit_type_id)
    return called[0] if len(called) == 1 else name  # some panels' IDs are each link's own


def name_of(campaign: Campaign, worker: str) -> str:
    """The other way round, for a sentence; where the crowd has no accounts, the id."""
    return _user_name(campaign, worker).get("user_name", worker)


def worker_result(campaign: Campaign, worker: str, result: Result) -> Result:
    return {"worker": worker, **_user_name(campaign, worker), **result}


def _user_name(campaign: Campaign, worker: str) -> dict[str, str]:
    names = user_names([worker]) if campaign.policy.crowd_traits.has_accounts else {}
    return {"user_name": names[worker]} if worker in names else {}
