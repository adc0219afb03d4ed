"""The files of a source: which ones, their formats, and their decompression."""

import bz2
import glob
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from tagtopic.corpus.reading.errors import ReadError

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
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xls": "excel",
    ".ods": "excel",
    ".twtm": "twtm",
    ".arff": "arff",
}
TEXT = ".txt"
FILES = "files"
"""Each file is a document."""

EXTREME = "extreme"
"""The text format of extreme classification, whose files have no suffix of their own."""

KNOWN = sorted({*FORMATS.values(), "text", FILES, EXTREME})  # any file may be text: no suffix stands for it
COMPRESSION_SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".xz": "xz", ".bz2": "bz2"}
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz", b"BZh": "bz2"}
BUFFER = 1 << 20

DAMAGED_DATA_ERRORS = (EOFError, OSError, zlib.error, lzma.LZMAError, pa.ArrowException)
"""What decompressors raise on damaged data."""


def format_of(path: Path, given: str | None = None) -> str:
    """Return the given format, or the one by the suffix of the file."""
    if given is not None:
        if given not in KNOWN:
            raise ValueError(f"there is no format {given!r}; there are {', '.join(KNOWN)}")
        return given
    found = _format_by_name(path)
    if found is None:
        raise ValueError(
            f"the name of {path} does not say what format it has ({', '.join(FORMATS)}, also compressed as "
            f'{", ".join(COMPRESSION_SUFFIXES)}): give it, as in format="text" (--format text), each line a document, '
            'or format="files", each file one'
        )
    return found


def _format_by_name(path: Path) -> str | None:
    return FORMATS.get(_ending(path))


def _ending(path: Path) -> str:
    """Return the suffix of the file, without that of its compression."""
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSION_SUFFIXES else path
    return name.suffix.lower()


def files_of(source: str | PathLike[str] | Sequence[str | PathLike[str]], given: str | None = None) -> list[Path]:
    """Return the files of a path, glob or folder, or of a list of these.

    Of a folder these are the files with a known suffix, or with a suffix of the given format; if there are none, all
    files are taken to have the given format.
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
    if (dataset := _hugging_face_files(folder)) is not None:
        return dataset
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


def _hugging_face_files(folder: Path) -> list[Path] | None:
    """The Arrow files of a dataset that was written by `save_to_disk` of Hugging Face; None if it is none."""
    if (folder / "dataset_dict.json").is_file():
        parts = sorted(path.parent.name for path in folder.glob("*/state.json"))
        raise ReadError(f"{folder} has several datasets ({', '.join(parts)}): choose one, as in {folder / parts[0]}")
    state = folder / "state.json"
    if not (state.is_file() and (folder / "dataset_info.json").is_file()):
        return None
    try:
        content = json.loads(state.read_text("utf-8"))
        names = [str(entry["filename"]) for entry in content["_data_files"]]
        indices = content.get("_indices_data_files")
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    if indices:
        raise ReadError(f"{folder} has its rows in another order: save it after flatten_indices()")
    return [folder / Path(name).name for name in names]


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


class _GzipStream(gzip.GzipFile):
    """A gzip file whose reads return what is decompressed so far, so that damage surfaces only where it is."""

    def readinto(self, buffer: Any) -> int:
        return self.readinto1(buffer)


class _ArrowStream(io.RawIOBase):
    """A decompressing stream of pyarrow as a raw file."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return int(self._stream.readinto(buffer))  # its `read` leaks what it has allocated when the data is damaged


class _UnclosedStream(io.RawIOBase):
    """The caller's stream as a raw file that is not closed with it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def decompressed(raw: IO[bytes], path: Path | None = None) -> IO[bytes]:
    """Return the decompressed stream of a raw file; its first bytes determine the compression."""
    stream: Any = raw
    buffered: Any = stream if hasattr(stream, "peek") else io.BufferedReader(_UnclosedStream(stream), BUFFER)
    start = buffered.peek(8)[:8]
    found = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), None)
    expected = COMPRESSION_SUFFIXES.get(path.suffix.lower()) if path is not None else None
    if expected is not None and found != expected and start:
        raise ReadError(f"{path} is called {path.suffix if path else ''} but does not hold {expected} data")
    if found == "gzip":
        return io.BufferedReader(_GzipStream(fileobj=buffered), BUFFER)
    if found == "xz":
        return lzma.open(buffered)
    if found == "bz2":
        return bz2.open(buffered)
    if found == "zstd":
        return io.BufferedReader(_ArrowStream(pa.CompressedInputStream(pa.PythonFile(buffered), "zstd")), BUFFER)
    plain: IO[bytes] = buffered
    return plain
