"""The models that were trained here, by name: registered once, and whole whenever one is used."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from core.errors import UserError
from retrieval.encoders.lazy import load_encoder
from retrieval.models import IndexVersion, TrainedModel
from retrieval.registry.card import card
from retrieval.registry.names import require_own_name
from retrieval.registry.training_record import FILE, Training, parse_training, read_training
from retrieval.vectors.checksums import sha256_of

CARD = "card.md"


def register(
    folder: Path, *, conclude: Callable[[TrainedModel], object] = lambda model: None
) -> TrainedModel:
    """The model of a training that has ended, whose folder lies in settings.MODELS_DIR.

    Registered before, it stays as it is; UserError where the folder says something else now. A
    new one is told to `conclude`, in the transaction that records it.
    """
    values = read_training(folder)
    training = parse_training(values)
    _require_its_place(folder, training)
    require_own_name(training.name, training.base)
    model = folder / training.best.model
    if (digest := digest_of_folder(model)) != training.best.sha256:
        raise UserError(
            f"{model} is not the model that was trained: its sha256 is {digest}, and {FILE} says "
            f"{training.best.sha256}; train it again by `quorum model train`, under another name."
        )
    # Before the transaction: it may load the model, which takes seconds.
    made_before = _indexes_of(model.resolve())
    with transaction.atomic():
        registered, is_new = _recorded(training, values)
        if is_new:
            IndexVersion.objects.filter(pk__in=made_before).update(trained=registered)
            conclude(registered)
    _write_card(folder, training)
    return registered


def digest_of_folder(folder: Path, *, with_links: bool = False) -> str:
    """sha256 of what `sha256sum` prints for its files, in the order of their paths' bytes.

    `with_links` is for a folder that is not ours: the hub's cache is made of links to files.
    """
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}: check the path.")
    lines = []
    for path in folder.rglob("*"):
        is_link = path.is_symlink() and not with_links
        if is_link or not (path.is_dir() or path.is_file()):
            raise UserError(f"{path} is a link or a device: a model may only contain files.")
        if path.is_file():
            try:
                lines.append((_name(path, folder), sha256_of(path)))
            except OSError as error:
                raise UserError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not lines:
        raise UserError(f"{folder} is empty: a model has files.")
    digest = hashlib.sha256()
    for name, sha256 in sorted(lines):
        digest.update(f"{sha256}  ".encode() + name + b"\n")
    return digest.hexdigest()


def verify(model: TrainedModel) -> None:
    """UserError where a file of it has changed or is missing."""
    try:
        digest = digest_of_folder(model.path)
    except UserError as error:
        raise UserError(f"The model {model.name} is incomplete: {error}") from error
    if digest != model.sha256:
        raise UserError(
            f"The model {model.name} has changed since it was registered: the sha256 of "
            f"{model.path} was {model.sha256} and is {digest}; restore its files from a copy."
        )


def model_named(name: str) -> TrainedModel:
    try:
        return TrainedModel.objects.get(name=name)
    except (TrainedModel.DoesNotExist, ValueError) as error:
        raise UserError(
            f"There is no registered model {name[:100]!r}: `quorum model list` shows them."
        ) from error


def resolve_model(name: str) -> str:
    """What an encoder is loaded by: a registered retriever's folder, else the name itself."""
    model = _verified(name)
    if model is None:
        return _no_training(name)
    if model.kind != TrainedModel.Kind.RETRIEVER:
        raise UserError(f"The model {model.name} is an answer selector: name a retriever here.")
    return str(model.path)


def resolve_either(name: str) -> str:
    """The same of a retriever or a selector."""
    model = _verified(name)
    return _no_training(name) if model is None else str(model.path)


def resolve_base(name: str, kind: str) -> str:
    """What a training of this kind starts from: a selector may start from either."""
    return resolve_either(name) if kind == TrainedModel.Kind.SELECTOR else resolve_model(name)


def registered_selector(named: str) -> TrainedModel | None:
    """By its name, its folder or its training's; None where nobody registered one."""
    model = _verified(named) or _verified_training(Path(named))
    if model is not None and model.kind != TrainedModel.Kind.SELECTOR:
        raise UserError(f"The model {model.name} is a retriever: name an answer selector here.")
    return model


def model_of(index: IndexVersion) -> str:
    """What its encoder is loaded by; a registered one may lie elsewhere than it did then."""
    return index.model if index.trained is None else resolve_model(index.trained.name)


def registered_at(folder: str) -> TrainedModel | None:
    """`folder`: a model's, however it is named."""
    root, path = Path(settings.MODELS_DIR).resolve(), Path(folder).resolve()
    if not path.is_relative_to(root):
        return None
    return TrainedModel.objects.filter(folder=path.relative_to(root).as_posix()).first()


def trained_form(model: str) -> str | None:
    """Of the training that left the model in its folder, registered or not."""
    place = Path(model).resolve()
    if registered := registered_at(str(place)):
        return str(registered.form)
    training = training_at(place)
    return training.form if training else None


def training_at(place: Path) -> Training | None:
    """That left the model in this folder."""
    folder = place.parent.parent  # as of seed-1/model
    if not (place.is_dir() and (folder / FILE).is_file()):
        return None
    training = parse_training(read_training(folder))
    return training if any(folder / one.model == place for one in training.seeds) else None


def _verified(name: str) -> TrainedModel | None:
    """The registered model of this name or in this folder, read again; None: there is none."""
    try:
        model = TrainedModel.objects.filter(name=name).first() or registered_at(name)
    except ValueError:  # of a text that neither the database nor the disk takes
        return None
    if model is not None:
        verify(model)
    return model


def _no_training(name: str) -> str:
    """The name; UserError where it is that of a training that nobody registered."""
    for folder in (Path(name), Path(settings.MODELS_DIR) / name):
        if (folder / FILE).is_file():
            raise UserError(
                f"{name} is a training, and its model is not registered: register it by `quorum "
                f"model register {folder}`, or name a model in it, such as "
                f"{folder / parse_training(read_training(folder)).best.model}."
            )
    return name


def _verified_training(folder: Path) -> TrainedModel | None:
    place = folder.resolve()
    if place.parent != Path(settings.MODELS_DIR).resolve():
        return None
    return _verified(place.name)


def _indexes_of(model: Path) -> list[int]:
    """Those made before by the folder's name, with the very model that lies there now."""
    indexes = list(IndexVersion.objects.filter(model=str(model), trained=None))
    if not indexes:
        return []
    fingerprint = load_encoder(str(model), "cpu").fingerprint
    return [index.pk for index in indexes if index.manifest.get("model_fingerprint") == fingerprint]


def _recorded(training: Training, values: dict[str, Any]) -> tuple[TrainedModel, bool]:
    """And whether it is new."""
    facts = {
        "kind": training.kind,
        "form": training.form,
        "folder": f"{training.name}/{training.best.model}",
        "sha256": training.best.sha256,
        "base": training.base,
        "release": training.release,
        "release_sha256": training.release_sha256,
        "threshold": training.threshold,
        "training": values,
    }
    model, is_new = TrainedModel.objects.get_or_create(name=training.name, defaults=facts)
    if model.sha256 != training.best.sha256:
        raise UserError(
            f"Another model {model.name} is registered, with the sha256 {model.sha256} where "
            f"this one has {training.best.sha256}: train under another name."
        )
    if model.training != values:
        raise UserError(
            f"{FILE} has different content for the model {model.name} than when it was registered, "
            f"{model.created_at:%Y-%m-%d}: put it back, or train under another name."
        )
    return model, is_new


def _require_its_place(folder: Path, training: Training) -> None:
    place = Path(settings.MODELS_DIR).resolve() / training.name
    if folder.resolve() != place:
        raise UserError(f"{folder} holds the training {training.name}: move it to {place}.")
    if (place / training.best.model).resolve() != place / training.best.model:
        raise UserError(f"{folder / training.best.model} is reached through a link: move it there.")


def _write_card(folder: Path, training: Training) -> None:
    path = folder / CARD
    unfinished = path.with_name(f".{CARD}.{os.getpid()}")
    try:
        unfinished.write_text(card(training), encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise UserError(
            f"{path} cannot be written ({error.strerror}): the model is registered. To print its "
            f"card, run `quorum model card {training.name}`."
        ) from error


def _name(path: Path, folder: Path) -> bytes:
    """Without a sign that `sha256sum` would write otherwise."""
    name = path.relative_to(folder).as_posix()
    if not name.isprintable() or "\\" in name:
        raise UserError(f"{str(path)!r} has a name that a model file cannot have: rename it.")
    return name.encode()
