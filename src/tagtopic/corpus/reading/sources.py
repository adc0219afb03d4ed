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
KNOWN = sorted({*FORMATS.values(), "text"})  # any file may be text: no name says that it is meant as documents


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
            f'{", ".join(SUFFIXES)}): give it, as in format="text" (--format text)'
        )
    return found


def _format_by_name(path: Path) -> str | None:
    name = path.with_suffix("") if path.suffix.lower() in SUFFIXES else path
    return FORMATS.get(name.suffix.lower())


def files_of(source: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[Path]:
    """The files meant: a file, those that match a glob, those of a folder whose names say their format, or a list."""
    if not isinstance(source, str | PathLike):
        return [file for part in source for file in files_of(part)]
    path = Path(source)
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if _is_data(file, path)]
        if not files:
            raise FileNotFoundError(f"the folder {path} has no file that can be read ({', '.join(FORMATS)})")
        return files
    if path.exists():
        return [path]
    if glob.has_magic(str(source)):
        found = [Path(name) for name in sorted(glob.glob(str(source), recursive=True))]  # noqa: PTH207
        files = [file for file in found if file.is_file()]
        if not files:
            raise FileNotFoundError(f"no file matches {source}")
        return files
    raise FileNotFoundError(f"there is no file {path}")


def _is_data(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    return not hidden and file.is_file() and _format_by_name(file) is not None
