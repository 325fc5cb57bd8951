"""Everything of a HIT page but its texts, item by item, as numbers for a classifier."""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ITEM = re.compile(r"<fieldset\b.*?</fieldset>", re.DOTALL)
KEY = re.compile(r'data-item="([^"]*)"')
TAG = re.compile(r"<(/?[a-z][a-z0-9-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
ATTRIBUTE = re.compile(r"([a-zA-Z_:][\w:.-]*)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'>]+))?")
# The texts and what follows from them: marked words, folds of long ones.
TEXT = re.compile(r"(<dd\b[^>]*>)(.*?)(</dd>)", re.DOTALL)

MODULI = (2, 3, 4, 5, 7, 8, 11, 16, 32, 64)
KEY_CHARACTERS = 24
NUMBERS = 12


@dataclass(frozen=True)
class Bare:
    """A page without its texts; `left_out` names the elements that went with them."""

    html: str
    left_out: frozenset[str]


def without_texts(html: str) -> Bare:
    inner = "".join(match[2] for match in TEXT.finditer(html))
    tags = frozenset(match[1] for match in TAG.finditer(inner) if not match[1].startswith("/"))
    return Bare(TEXT.sub(r"\1\3", html), tags)


def items_of(bare: Bare) -> list[tuple[str, list[float]]]:
    """(key, features) of each item in the order of the page."""
    found = list(ITEM.finditer(bare.html))
    keys = [_key(match[0]) for match in found]
    return [
        (
            keys[position],
            [
                *_place(match, position, len(found), bare),
                *_key_features(keys, position),
                *_bytes(match[0]),
                *_tags(match[0]),
                *_attributes(match[0], keys[position]),
                *_numbers(match[0], keys[position]),
                *_spaces(match[0]),
            ],
        )
        for position, match in enumerate(found)
    ]


def _key(markup: str) -> str:
    match = KEY.search(markup)
    assert match, markup[:200]
    return match[1]


def _place(match: re.Match[str], position: int, items: int, bare: Bare) -> list[float]:
    """Where it stands: offsets are counted without the texts before it."""
    start, end = match.span()
    lengths = [end - start, start, len(bare.html) - end, len(bare.html)]
    return [position, items - position, *lengths, *_rests(start), *_rests(end - start)]


def _key_features(keys: Sequence[str], position: int) -> list[float]:
    """The key's characters, its number and its order among its neighbours'."""
    numbers = [int.from_bytes(key.encode()[:8]) for key in keys]
    own = numbers[position]
    before = numbers[position - 1] if position else 0
    after = numbers[position + 1] if position + 1 < len(keys) else 0
    characters = keys[position].encode()[:KEY_CHARACTERS].ljust(KEY_CHARACTERS, b"\0")
    rank = sorted(keys).index(keys[position])
    apart = [own - before, after - own, own - min(numbers), max(numbers) - own]
    return [len(keys[position]), rank, own, before, after, *apart, *_rests(own), *characters]


def _bytes(markup: str) -> list[float]:
    counts = Counter(markup.encode())
    return [counts[byte] for byte in range(256)]


def _tags(markup: str) -> list[float]:
    names = [match[1] for match in TAG.finditer(markup)]
    threes = zip(names, names[1:], names[2:], strict=False)
    return [len(names), *_buckets(names, 32), *_buckets(threes, 64)]


def _attributes(markup: str, key: str) -> list[float]:
    """Names, values with and without the item's own key, and the order they stand in."""
    values: list[tuple[str, ...]] = []
    own: list[tuple[str, ...]] = []
    orders: list[tuple[str, ...]] = []
    for name, inner in TAG.findall(markup):
        found = ATTRIBUTE.findall(inner)
        values += [(name, *each) for each in found]
        own += [(name, attribute, value.replace(key, "")) for attribute, value in found]
        orders.append((name, *(attribute for attribute, _ in found)))
    return [len(values), *_buckets(values, 64), *_buckets(own, 128), *_buckets(orders, 64)]


def _numbers(markup: str, key: str) -> list[float]:
    """Whatever could be a primary key or a count."""
    found = [float(number[:15]) for number in re.findall(r"\d+", markup.replace(key, ""))]
    return [len(found), sum(found), *(found + [-1.0] * NUMBERS)[:NUMBERS]]


def _spaces(markup: str) -> list[float]:
    runs = re.findall(r"\s+", markup)
    return [len(runs), sum(map(len, runs)), *_buckets(runs, 16)]


def _rests(number: int) -> list[float]:
    return [number % modulus for modulus in MODULI]


def _buckets(things: Iterable[object], size: int) -> list[float]:
    counts = Counter(zlib.crc32(repr(thing).encode()) % size for thing in things)
    return [counts[bucket] for bucket in range(size)]
