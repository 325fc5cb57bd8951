"""What `manage.py campaign status` says of the experts' labels."""

from typing import Any


def in_words(expert: Any) -> str | None:
    """Nothing where there are none."""
    if not expert["labels"]:
        return None
    parts = [f"{expert['labels']:,} labels on {expert['triplets']:,} triplets"]
    if expert["unresolved_adjudicated"] is not None:
        parts.append(f"{expert['unresolved_adjudicated']:.1%} of the unresolved ones decided")
    if expert["agreement"] is not None:
        parts.append(f"agreement {expert['agreement']:.1%}")
    if expert["label_error"] is not None:
        low, high = expert["label_error_interval"]
        parts.append(
            f"label error {expert['label_error']:.1%} ({low:.1%} to {high:.1%}) of "
            f"{expert['label_error_triplets']:,}"
        )
    return ", ".join(parts)
