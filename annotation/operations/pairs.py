"""Question-answer pairs withdrawn from search, and restored."""

from django.db import transaction

from annotation.access.audit_log import Actor, record
from retrieval.corpus.withdraw import withdraw_pairs
from retrieval.models import QaPair


@transaction.atomic
def withdraw_pair(by: Actor, pair: QaPair, *, restore: bool, reason: str) -> bool:
    """Or restore it; False where nothing changes."""
    if not withdraw_pairs([pair.pair_key], restore=restore).changed:
        return False
    details = {"key": pair.pair_key, "source": pair.source, "id": pair.source_id, "reason": reason}
    verb = "restore pair" if restore else "withdraw pair"
    record(by, verb, subject=f"pair {pair.pk}", details=details)
    return True
