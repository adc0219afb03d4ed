"""Which files a path, glob, folder or list of them means, and what format each has."""

import glob
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from tagtopic.corpus.reading.lines import SUFFIXES

FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".twtm": "twtm",
}
TEXT = ".txt"
FILES = "files"
"""Each file is a document."""

KNOWN = sorted({*FORMATS.values(), "text", FILES})  # any file may be text: no name says that it is meant as documents


def format_of(path: Path, given: str | None = None) -> str:
    """The format given, or the one that the file's name says."""
    if given is not None:
        if given not in KNOWN:
            raise ValueError(f"there is no format {given!r}; there are {', '.join(KNOWN)}")
        return given
    found = _format_by_name(path)
    if found is None:
        raise ValueError(
            f"the name of {path} does not say what format it has ({', '.join(FORMATS)}, also compressed as "
            f'{", ".join(SUFFIXES)}): give it, as in format="text" (--format text), each line a document, or '
            'format="files", each file one'
        )
    return found


def _format_by_name(path: Path) -> str | None:
    return FORMATS.get(_ending(path))


def _ending(path: Path) -> str:
    """The end of the file's name, without that of its compression."""
    name = path.with_suffix("") if path.suffix.lower() in SUFFIXES else path
    return name.suffix.lower()


def files_of(source: str | PathLike[str] | Sequence[str | PathLike[str]], given: str | None = None) -> list[Path]:
    """The files meant: a file, those that match a glob, those of a folder, or a list of these.

    Of a folder these are the files whose names say their format, or that they have the one given; if no name says
    so, all files are of the format given.
    """
    if not isinstance(source, str | PathLike):
        return [file for part in source for file in files_of(part, given)]
    path = Path(source)
    if path.is_dir():
        return _files_in(path, given)
    if path.exists():
        return [path]
    if glob.has_magic(str(source)):
        found = [Path(name) for name in sorted(glob.glob(str(source), recursive=True))]  # noqa: PTH207
        files = [file for file in found if file.is_file()]
        if not files:
            raise FileNotFoundError(f"no file matches {source}")
        return files
    raise FileNotFoundError(f"there is no file {path}")


def _files_in(folder: Path, given: str | None) -> list[Path]:
    shown = [file for file in sorted(folder.rglob("*")) if file.is_file() and not _is_hidden(file, folder)]
    kinds = {**FORMATS, TEXT: FILES if given == FILES else "text"}
    endings = [ending for ending, kind in kinds.items() if kind == given] or list(FORMATS)
    files = [file for file in shown if _ending(file) in endings] or (shown if given is not None else [])
    if not files:
        texts = sum(_ending(file) == TEXT for file in shown)
        hint = (
            f'; it has {texts:,} {TEXT} files: format="files" (--format files) makes each a document' if texts else ""
        )
        raise FileNotFoundError(f"the folder {folder} has no file that can be read ({', '.join(endings)}){hint}")
    return files


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
