"""Which names a model may be trained and registered under."""

from pathlib import Path

from django.conf import settings

from core.errors import UserError
from retrieval.encoders.bundled import bundled_folder
from retrieval.models import TrainedModel
from retrieval.registry.training_record import FILE


def require_own_name(name: str, base: str) -> None:
    """UserError where the name means another model: a person who asked for that would get this one.

    A registered model keeps its name, whatever has been tuned from it since.
    """
    bases = dict(TrainedModel.objects.values_list("name", "base"))
    if name in bases:
        return
    if _folded(name) == _folded(base):
        raise UserError(
            f"The model would have the name of its base, {base}: choose another name with --name "
            "of `quorum model train`."
        )
    meant = {one: f"the base of the model {tuned}" for tuned, one in bases.items()}
    meant |= {settings.ENCODER_MODEL: f"the site's encoder, {settings.ENCODER_MODEL}"}
    taken = next((what for one, what in meant.items() if _folded(one) == _folded(name)), None)
    if taken is None and bundled_folder(name):
        taken = "that of an installed package"
    if taken:
        raise UserError(
            f"The name {name} means another model already, {taken}: choose another name with "
            "`quorum model train --name`."
        )


def require_untaken(name: str) -> None:
    """UserError where a model is registered by the name, and its training is not here any more: a
    new one would be another model. One that is here is compared with what is asked for."""
    folder = Path(settings.MODELS_DIR) / name
    registered = name in TrainedModel.objects.values_list("name", flat=True)
    if registered and not (folder / FILE).is_file():
        raise UserError(
            f"Another model {name} is registered, and its training is not in {folder} any more: "
            "restore it, or choose another name with `quorum model train --name`."
        )


def _folded(name: str) -> str:
    """A package is found by either sign, and the library's own models without its name."""
    return name.removeprefix("sentence-transformers/").replace("-", "_").lower()
