"""What lies in the storage, whatever the database says."""

from contextlib import suppress

from annotation.models import Campaign
from exports.delivery.storage import folder_of, storage


def prefixes(campaign: Campaign) -> list[str]:
    """Of releases, and of builds that never became one."""
    folder = folder_of(campaign)
    with suppress(FileNotFoundError):
        folders, _ = storage().listdir(folder)
        return [f"{folder}/{name}" for name in sorted(folders)]
    return []
