"""How a campaign's votes become labels, in a sentence or two, where that is not their majority."""

from annotation.models import Aggregation, Campaign
from annotation.protocol.labels.claims import MAJORITY, asking_in_words


def labelling_in_words(campaign: Campaign) -> str:
    """Nothing where labels are majorities."""
    policy = campaign.policy
    if policy.aggregation == MAJORITY:
        return ""
    stored = Aggregation.objects.filter(campaign=campaign).first()
    if stored is None:
        made = "Labels will be made by whatever foretells controls best."
    else:
        made = f"Labels are made by {stored.aggregator}: {stored.why}."
    if policy.rank_prior:
        made += " Ranks have a say, so labels lean to the retriever of the candidates."
    return f"{made} {asking_in_words(policy)}".strip()
