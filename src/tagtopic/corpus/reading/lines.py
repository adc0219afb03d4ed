"""Lines of a file, plain or compressed, decoded one by one so that a bad one spoils no other."""

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from tagtopic.corpus.reading.errors import BadRow, ReadError

MAX_LINE = 1 << 29  # bytes: beyond it a "line" is a file without line ends, and would fill the memory
BUFFER = 1 << 20
SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".xz": "xz", ".bz2": "bz2"}
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz", b"BZh": "bz2"}
MARKS = [
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
]
# what the decompressors raise on damaged data
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, pa.ArrowException)


class _GzipStream(gzip.GzipFile):
    """A gzip file that gives what it has, so that damage is met only where it is."""

    def readinto(self, buffer: Any) -> int:
        return self.readinto1(buffer)


class _ArrowStream(io.RawIOBase):
    """pyarrow's decompressing stream as a raw file."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return int(self._stream.readinto(buffer))  # its `read` leaks what it has allocated when the data is damaged


class _Borrowed(io.RawIOBase):
    """Somebody's stream as a raw file that is not closed when we are done with it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def decompressed(raw: IO[bytes], path: Path | None = None) -> IO[bytes]:
    """The stream behind a raw file: told by its first bytes whether and how it is compressed."""
    stream: Any = raw
    buffered: Any = stream if hasattr(stream, "peek") else io.BufferedReader(_Borrowed(stream), BUFFER)
    start = buffered.peek(8)[:8]
    found = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), None)
    expected = SUFFIXES.get(path.suffix.lower()) if path is not None else None
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


class Lines(Iterator[str]):
    """The decoded lines of a binary stream, with their ends.

    A line that cannot be decoded or is too long raises `BadRow`, and the next call goes on after it.
    `number` is that of the line given last.
    """

    def __init__(self, stream: IO[bytes], encoding: str | None = None) -> None:
        self.number = 0
        self._stream = stream
        self._encoding = encoding or "utf-8"
        self._ahead = b""
        self._wide: io.TextIOWrapper | None = None
        try:
            "a".encode(self._encoding)
        except (LookupError, UnicodeError, ValueError):
            raise ReadError(f"there is no text encoding called {encoding!r}") from None
        self._skip_mark(given=encoding is not None)

    def _skip_mark(self, *, given: bool) -> None:
        """Leave a byte order mark out, and believe it."""
        codec = codecs.lookup(self._encoding).name
        start = self._stream.read(4)
        for mark, encoding in MARKS:
            if start.startswith(mark) and (not given or codec.startswith(encoding[:6])):
                codec, start = encoding, start[len(mark) :]
                break
        self._encoding = codec
        self._ahead = start
        if codec.startswith(("utf-16", "utf-32")):  # a line end is not one byte there
            if codec in ("utf-16", "utf-32"):
                codec += "-le"
            joined = io.BufferedReader(_Joined(start, self._stream), BUFFER)
            self._wide = io.TextIOWrapper(joined, encoding=codec, newline="\n")

    def __next__(self) -> str:
        if self._wide is not None:
            return self._next_wide(self._wide)
        line = self._read_line()
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) > MAX_LINE:
            while line and not line.endswith(b"\n"):
                line = self._stream.readline(BUFFER)
            raise BadRow(f"is longer than {MAX_LINE >> 20} MB")
        try:
            return line.decode(self._encoding)
        except UnicodeError as error:
            raise BadRow(
                f"is not {self._encoding} ({str(error)[-200:]}); if the file is in another encoding name it, as in "
                'encoding="latin-1" (--encoding latin-1)'
            ) from None

    def _read_line(self) -> bytes:
        if not self._ahead:
            return self._stream.readline(MAX_LINE + 1)
        start, end, rest = self._ahead.partition(b"\n")
        self._ahead = rest if end else b""
        return start + end if end else start + self._stream.readline(MAX_LINE + 1)

    def _next_wide(self, wide: io.TextIOWrapper) -> str:
        try:
            line = wide.readline(MAX_LINE)
        except UnicodeDecodeError as error:
            raise ReadError(f"after line {self.number} the file is not {self._encoding}: {error.reason}") from None
        if not line:
            raise StopIteration
        self.number += 1
        return line


class _Joined(io.RawIOBase):
    """Bytes read already, then the rest of their stream."""

    def __init__(self, start: bytes, stream: IO[bytes]) -> None:
        self._start, self._stream = start, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._start[: len(buffer)] or self._stream.read(len(buffer))
        self._start = self._start[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)
