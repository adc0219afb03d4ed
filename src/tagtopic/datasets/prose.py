"""The prose of a docstring: what a person would read, without code, markup and bibliography."""

from __future__ import annotations

import re

# Sections that hold code or citations, and sections that hold names rather than sentences.
_DROPPED_SECTIONS = {"examples", "example", "references", "see also", "methods"}
_SECTION_LINE = re.compile(r"[-=~^*]{3,}")
_ROLE = re.compile(r":[\w:+.-]+:`~?([^`<]*)(?:<[^`]*>)?`")
_DIRECTIVE = re.compile(r"\.\. (?:[\w:-]+::.*|\[[^\]]*\].*|_[^:]*:.*|\|[^|]*\|.*)")
_CODE_DIRECTIVES = (".. math", ".. code", ".. plot", ".. autosummary", ".. toctree", ".. figure", ".. [")
_FIELD = re.compile(r":(?:param|parameter|type|arg|keyword|kwarg|raises|return|returns|rtype|var|ivar)\b([^:]*):")
_CITATION = re.compile(r"\[[\w.-]+\]_")
_ADDRESS = re.compile(r"(?:https?|ftp)://\S+|\bdoi:\S+")
_TYPED = re.compile(r"^(\s*\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+){0,5}) : .*$", re.MULTILINE)  # `axis : int, optional`
_MATHS = re.compile(r"\$[^$\n]+\$|\\[A-Za-z]+")


def prose(docstring: str) -> str:
    """Return the sentences of a docstring in reStructuredText, numpydoc or plain style."""
    lines = _without_sections(docstring.expandtabs().splitlines())
    text = "\n".join(_without_code(lines))
    for pattern, replacement in (
        (_TYPED, r"\1"),  # a type is the same few words everywhere
        (_ROLE, r"\1"),
        (_FIELD, r"\1 "),
        (_CITATION, " "),
        (_ADDRESS, " "),
        (_MATHS, " "),
    ):
        text = pattern.sub(replacement, text)
    return text.replace("`", " ").replace("*", " ").strip()


def _without_sections(lines: list[str]) -> list[str]:
    """Drop section underlines, and whole sections of code or citations (numpydoc)."""
    kept: list[str] = []
    dropping = False
    for number, line in enumerate(lines):
        underline = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if line.strip() and _SECTION_LINE.fullmatch(underline):
            dropping = line.strip().rstrip(":").lower() in _DROPPED_SECTIONS
            continue
        if not dropping and not _SECTION_LINE.fullmatch(line.strip()):
            kept.append(line)
    return kept


def _without_code(lines: list[str]) -> list[str]:
    """Drop doctests with their output, literal blocks after `::`, directives, and tables' rules."""
    kept: list[str] = []
    in_doctest = False
    literal: int | None = None  # the indentation that a literal block goes deeper than
    for line in lines:
        stripped = line.strip()
        indentation = len(line) - len(line.lstrip())
        if not stripped:
            in_doctest = False
            continue
        if literal is not None:
            if indentation > literal:
                continue
            literal = None
        if stripped.startswith((">>>", "In [")):
            in_doctest = True
        if in_doctest:
            continue
        if _DIRECTIVE.match(stripped):
            literal = indentation if stripped.startswith(_CODE_DIRECTIVES) else None
            continue
        if stripped.endswith("::"):
            literal = indentation
        kept.append(line)
    return kept
