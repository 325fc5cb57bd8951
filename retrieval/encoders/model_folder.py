"""Where a model's files are, without loading it. Import it through lazy.py."""

from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

from core.errors import UserError
from retrieval.encoders.bundled import bundled_folder

ENTER_ANOTHER = (
    "enter a registered model, an installed model package, a folder with a model, or a model "
    "downloaded with `hf download NAME`."
)


def require_model(name: str) -> None:
    """UserError where nothing has this name: at once, for torch takes seconds to say it."""
    if folder_of(name) is None:
        raise UserError(
            f"The model {name!r} cannot be loaded (there is no package, folder or fetched model of "
            f"that name): {ENTER_ANOTHER}"
        )


def folder_of(name: str) -> Path | None:
    """Where the files of a model lie that is found without a hub."""
    folder = bundled_folder(name) or Path(name)
    if folder.is_dir():
        return folder
    # The library finds its own models without their owner's name, too.
    for known in (name, f"sentence-transformers/{name}"):
        try:
            return Path(snapshot_download(known, local_files_only=True))
        except (LocalEntryNotFoundError, HFValidationError):
            continue
    return None
