"""Reads what people read: `python -m tests.house.prose [PATH...]` prints the sentences to mend.

Docs, templates without tags, and help texts are split into sentences. Each is held to proselint,
to a length, and to our own patterns; each document to a readability index that counts characters.
Exit status 1 when anything is found.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import textstat
from proselint.checks import __register__
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

ROOT = Path(__file__).resolve().parents[2]
# What proselint cannot know here: our typography is the project's, and names are not misspelt.
PROSELINT = {
    "checks": {
        "archaism": True,
        "cliches": True,
        "industrial_language": True,
        "malapropisms": True,
        "misc.but": True,
        "misc.phrasal_adjectives": True,
        "misc.preferred_forms": True,
        "mixed_metaphors": True,
        "needless_variants": True,
        "nonwords": True,
        "oxymorons": True,
        "redundancy": True,
        "skunked_terms": True,
        "social_awareness": True,
        "uncomparables": True,
        "weasel_words": True,
    },
    "max_errors": 1000,
}
MOST_WORDS = 40
MOST_LINES = 7  # of a paragraph of docs
FEWEST = 5  # words of a string that is read as a sentence
# No English: SQL, patterns, headers, code that is written into other files.
CODE = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|CREATE|WHERE|JOIN|SET|PRAGMA)\b"
    r"|[\\^]|\(\?|'(self|none)'|^\W*import |^# "
)
HARDEST = 13.0  # the automated readability index of a document, in years of school
HELP = {"help", "help_text", "label", "description", "lead", "meaning"}
PATTERNS = {
    r"\banew\b": "say again or new",
    r"\b(it|that|which|they|what|who) (stand|lie)s?\b|\bstands? (in|on|with|under|for itself)\b": (
        "say is, appears, or depends on"
    ),
    r"\blies? (in|on|under|beside|below)\b": "say is",
    r"\b[Ss]o (many|much|long) (of|as|a|the|HITs|explained|different)\b|\bSo many\b": (
        "say the number of"
    ),
    r"(?:^|\. )(?:Who(?:ever)?|What) (?!each)(?:\w+ ){2,}(?:is|are|stays?|gets?|takes?)\b": (
        "a relative clause needs its noun: people who, the work that"
    ),
    r"\bhand(s|ed|ing)?[ -]in\b": "say submit",
    r"\b(give|gives|take|takes|taken|gave) (it|them|one|\w+ \w+) back\b": (
        "say undo, return, or revoke"
    ),
    r"\bshuts? out\b": "say exclude",
    r"\b(deed|deeds|lock-outs?|rehears\w+|blacklist\w*)\b": "an old word: see docs/glossary.md",
    r"\bby (which|whichever|whatever) door\b|\bby hand\b": "say manually, or by which interface",
    r";[^;]*;": "two semicolons in a sentence: write sentences",
    r"\bfor good\b": "say permanently",
    r"\bgoes on\b|\bgo on\b": "say continue",
    r"\bno more than once\b|\bat the most\b": "say at most",
    r"\bwhereof\b|\bthereof\b|\bwherein\b|\bof which\b.*\bof which\b": "too formal",
}
COMPILED = [(re.compile(pattern), advice) for pattern, advice in PATTERNS.items()]


@dataclass(frozen=True)
class Passage:
    """A paragraph, cell, or help text, with the line that it begins on."""

    path: Path
    line: int
    text: str


def main(arguments: list[str]) -> int:
    found = sorted({*problems([Path(one).resolve() for one in arguments] or sources())})
    for one in found:
        print(one)
    return 1 if found else 0


def sources() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.splitlines() if _is_read_by_people(name)]


def _is_read_by_people(name: str) -> bool:
    if name.endswith(".md"):
        return name.startswith(
            ("docs/", "README", "CONTRIBUTING", "SECURITY", "CHANGELOG", "bench")
        )
    if name.endswith(".html"):
        return name.startswith("templates/")
    return name.endswith(".py") and name.startswith(
        ("annotation/", "retrieval/", "exports/", "core/", "config/")
    )


def problems(paths: Iterable[Path]) -> Iterator[str]:
    registry = CheckRegistry()
    registry.register_many(__register__)
    for path in paths:
        passages = [*read(path)]
        for passage in passages:
            yield from _sentences(passage)
        if passages:
            yield from _proselint(path, passages)
        if path.suffix == ".md":
            yield from _document(path, passages)


def read(path: Path) -> Iterator[Passage]:
    text = path.read_text(encoding="utf-8")
    reader = {".md": markdown, ".html": template, ".py": spoken}[path.suffix]
    for line, found in reader(text):
        if len(found.split()) > 1:
            yield Passage(path, line, found)


def markdown(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, list items and cells, without code."""
    text = _without_fences(text)
    text = re.sub(r"^(    |\t).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`|https?://\S+", _code, text)
    starts = r"(?m)^(?=\s*(?:[-*>#|]|\d+\.) ?)|\n[ \t]*\n"
    for line, block in _blocks(text, starts):
        for cell in block.strip().strip("|").split("|"):
            yield line, re.sub(r"\s+", " ", re.sub(r"^\s*(?:[-*>#]+|\d+\.)\s+", "", cell)).strip()


def template(text: str) -> Iterator[tuple[int, str]]:
    """The texts between tags and in attributes that are shown or read out."""
    for pattern in (r"{#.*?#}", r"{% comment %}.*?{% endcomment %}", r"<(script|style)\b.*?</\1>"):
        text = re.sub(pattern, _blank, text, flags=re.DOTALL)
    text = re.sub(r"{{[^}]*\|(?:pluralize|yesno)[^}]*}}", "", text)
    text = re.sub(r"{{.*?}}", "it", text)
    text = re.sub(r"{% (?:el|end|if|for|with)[^%]*%}", "\x00", text)
    text = re.sub(r"{%.*?%}", "", text, flags=re.DOTALL)
    for found in re.finditer(r'\b(?:aria-label|placeholder|title|alt)="([^"]*)"', text):
        yield _line(text, found.start()), _plain(found[1])
    inline = r"</?(?:a|b|bdi|code|em|i|kbd|mark|small|span|strong|time|br)\b[^>]*>"
    text = re.sub(inline, lambda match: "\n" * match[0].count("\n"), text)
    text = re.sub(r"<[^>]*>", lambda match: "\x00" + "\n" * match[0].count("\n"), text)
    position = 0
    for piece in text.split("\x00"):
        yield _line(text, position + len(piece) - len(piece.lstrip())), _plain(piece)
        position += len(piece) + 1


def spoken(source: str) -> Iterator[tuple[int, str]]:
    """Help, messages and errors: strings of FEWEST words or more, and a command's docstring.

    Docstrings of other functions and what is no English (SQL, patterns, headers) are left out.
    """
    tree = ast.parse(source)
    silent = {id(node) for node in ast.walk(tree) for node in _silent(node)}
    for node in ast.walk(tree):
        if id(node) in silent:
            continue
        match node:
            case ast.keyword(arg=name, value=ast.Constant(value=str(said))) if name in HELP:
                yield node.value.lineno, _plain(said)
            case ast.Constant(value=str()) | ast.JoinedStr():
                text = _plain(_filled(node))
                if len(text.split()) >= FEWEST and not CODE.search(text):
                    yield node.lineno, text


def _silent(node: ast.AST) -> Iterator[ast.AST]:
    """Docstrings but a command's, the parts of f-strings, and help, which is read as such."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
        decorators = getattr(node, "decorator_list", [])
        first = node.body[0]
        if isinstance(first, ast.Expr) and not any("verb" in ast.unparse(it) for it in decorators):
            yield first.value
    elif isinstance(node, ast.JoinedStr):
        yield from (part for value in node.values for part in ast.walk(value))
    elif (
        isinstance(node, ast.keyword) and node.arg in HELP and isinstance(node.value, ast.Constant)
    ):
        yield node.value


def _filled(text: ast.Constant | ast.JoinedStr) -> str:
    parts = [text] if isinstance(text, ast.Constant) else text.values
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "it" for part in parts)


def _blocks(text: str, separator: str) -> Iterator[tuple[int, str]]:
    bounds = [0, *(match.end() for match in re.finditer(separator, text)), len(text)]
    for begin, end in pairwise(bounds):
        yield _line(text, begin), text[begin:end]


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _without_fences(text: str) -> str:
    return re.sub(r"^```.*?^```", _blank, text, flags=re.MULTILINE | re.DOTALL)


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def _code(match: re.Match[str]) -> str:
    return "Code" + "\n" * match[0].count("\n")


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _sentences(passage: Passage) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?]) (?=[A-Z(*`])", passage.text):
        place = f"{passage.path.relative_to(ROOT)}:{passage.line}"
        if len(sentence.split()) > MOST_WORDS:
            yield f"{place}: {len(sentence.split())} words in a sentence: {sentence}"
        for pattern, advice in COMPILED:
            if pattern.search(sentence):
                yield f"{place}: {advice}: {sentence}"


def _proselint(path: Path, passages: list[Passage]) -> Iterator[str]:
    text = "\n".join(passage.text for passage in passages)
    for one in LintFile(path, text).lint(PROSELINT):  # type: ignore[arg-type]
        passage = passages[min(one.pos[0], len(passages)) - 1]
        found = one.check_result
        yield f"{path.relative_to(ROOT)}:{passage.line}: {found.message}: {passage.text}"


def _document(path: Path, passages: list[Passage]) -> Iterator[str]:
    text = " ".join(p.text for p in passages if len(p.text.split()) > 6 and p.text[-1:] in ".:")
    index = textstat.automated_readability_index(text)
    if text.count(".") > 5 and index > HARDEST:
        yield f"{path.relative_to(ROOT)}:1: readability {index:.1f}: write shorter sentences"
    whole = _without_fences(path.read_text(encoding="utf-8"))
    for line, block in _blocks(whole, r"\n[ \t]*\n"):
        if not re.match(r"\s*([-*>#|`]|\d+\.|    )", block) and block.count("\n") > MOST_LINES:
            yield f"{path.relative_to(ROOT)}:{line}: a paragraph of {block.count(chr(10))} lines"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
