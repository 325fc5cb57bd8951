"""MTurk's service model, as botocore ships it, applied to requests and responses.

botocore's own validator looks at required members, types and minima only; MTurk also refuses
what is too long, not in an enumeration, of another pattern, or unknown.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, ServiceModel, Shape, StructureShape

from annotation.crowd.emulator.errors import invalid

TARGET_PREFIX = "MTurkRequesterServiceV20170117"
SHOWN_CHARACTERS = 60
SHOWN_FAULTS = 10
NOT_TEXT = re.compile("[\0\ud800-\udfff]")


class Model:
    def __init__(self) -> None:
        self._service = service_model()
        self.operations = frozenset(self._service.operation_names)

    def check_request(self, operation: str, parameters: object) -> dict[str, Any]:
        """The parameters without nulls, which stand for absent ones, or RequestError."""
        shape = self._service.operation_model(operation).input_shape
        given = _without_nulls(parameters)
        wrong = list(faults(shape, given, "")) if shape else []
        if wrong:
            shown = " ".join(wrong[:SHOWN_FAULTS])
            raise invalid(f"{len(wrong)} validation error(s) in {operation}: {shown}")
        assert isinstance(given, dict)
        return given


@lru_cache(maxsize=1)
def service_model() -> ServiceModel:
    return ServiceModel(Loader().load_service_model("mturk", "service-2"), "mturk")


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def faults(shape: Shape, value: object, path: str) -> Iterator[str]:
    """A sentence for each thing that is wrong with a JSON value."""
    yield from CHECKS[shape.type_name](shape, value, path)


def _structure(shape: Shape, value: object, path: str) -> Iterator[str]:
    assert isinstance(shape, StructureShape)
    if not isinstance(value, dict):
        yield _fault(path, value, "must be a structure")
        return
    for name in shape.required_members:
        if name not in value:
            yield f"{_join(path, name)} is required."
    for name, item in value.items():
        if name in shape.members:
            yield from faults(shape.members[name], item, _join(path, name))
        else:
            yield f"{_join(path, _excerpt(name))} is not a known member."


def _list(shape: Shape, value: object, path: str) -> Iterator[str]:
    assert isinstance(shape, ListShape)
    if not isinstance(value, list):
        yield _fault(path, value, "must be a list")
        return
    yield from _range(shape, len(value), value, path, "members")
    for index, item in enumerate(value):
        yield from faults(shape.member, item, f"{path}[{index}]")


def _string(shape: Shape, value: object, path: str) -> Iterator[str]:
    if not isinstance(value, str):
        yield _fault(path, value, "must be a string")
        return
    if NOT_TEXT.search(value):
        yield _fault(path, value, "must not hold NUL or half a surrogate pair")
    yield from _range(shape, len(value), value, path, "characters")
    enum = shape.metadata.get("enum")
    if enum and value not in enum:
        yield _fault(path, value, f"must be one of {', '.join(enum)}")
    pattern = shape.metadata.get("pattern")
    if pattern and not _compiled(pattern).fullmatch(value):
        yield _fault(path, value, f"must match the pattern {pattern}")


def _integer(bits: int) -> Callable[[Shape, object, str], Iterator[str]]:
    bound = 1 << (bits - 1)

    def check(shape: Shape, value: object, path: str) -> Iterator[str]:
        if not isinstance(value, int) or isinstance(value, bool) or not -bound <= value < bound:
            yield _fault(path, value, f"must be an integer of {bits} bits")
            return
        yield from _range(shape, value, value, path, "")

    return check


def _boolean(shape: Shape, value: object, path: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield _fault(path, value, "must be true or false")


def _timestamp(shape: Shape, value: object, path: str) -> Iterator[str]:
    if not isinstance(value, int | float) or isinstance(value, bool):
        yield _fault(path, value, "must be a number of seconds since 1970")


def _range(shape: Shape, size: int, value: object, path: str, unit: str) -> Iterator[str]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if low is not None and size < low:
        yield _fault(path, value, f"must be at least {low} {unit}".rstrip())
    if high is not None and size > high:
        yield _fault(path, value, f"must be at most {high} {unit}".rstrip())


def _fault(path: str, value: object, constraint: str) -> str:
    return f"Value {_excerpt(value)} at {path or 'the request'} {constraint}."


def _excerpt(value: object) -> str:
    shown = ascii(value)
    return shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[:SHOWN_CHARACTERS]}..."


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


@lru_cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


CHECKS: Mapping[str, Callable[[Shape, object, str], Iterator[str]]] = {
    "structure": _structure,
    "list": _list,
    "string": _string,
    "integer": _integer(32),
    "long": _integer(64),
    "boolean": _boolean,
    "timestamp": _timestamp,
}
