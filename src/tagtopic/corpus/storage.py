"""A saved corpus: a folder of memory-mapped `.npy` arrays, JSON names, and `corpus.json`, which describes them.

Opening a corpus reads the names, the headers and the row offsets, and compares every size with `corpus.json`: a
truncated or swapped file is detected although no words or tags are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.files import atomic_folder, recover_folder
from tagtopic._core.memmap import release, write_array
from tagtopic._core.strings import StringArray
from tagtopic._version import __version__
from tagtopic.corpus import matrices
from tagtopic.corpus.matrices import damaged_corpus, is_nondecreasing
from tagtopic.corpus.text.rules import TextRules

if TYPE_CHECKING:
    from tagtopic.corpus.corpus import Corpus


FORMAT = "tagtopic-corpus"
VERSION = 1
MARKER = "corpus.json"

ARRAYS: dict[str, Any] = {
    "counts.indptr": np.int64,
    "counts.indices": np.int32,
    "counts.data": np.int32,
    "tags.indptr": np.int64,
    "tags.indices": np.int32,
    "tags.data": np.int8,
    "ids.offsets": np.int64,
    "ids.bytes": np.uint8,
}
TITLES: dict[str, Any] = {"titles.offsets": np.int64, "titles.bytes": np.uint8}
"""Arrays that a corpus may have."""

FRACTIONAL = {"counts.data": np.float32}
"""Types that arrays may have instead."""

DIGEST_BLOCK = 1 << 22
"""Elements hashed at a time, so that a memory-mapped corpus does not have to be in memory."""


def save(corpus: Corpus, path: Path) -> None:
    """Write the corpus as a folder, atomically."""
    with atomic_folder(path, marker=MARKER) as folder:
        for name, array in arrays_of(corpus).items():
            write_array(folder / f"{name}.npy", array)
        write_names(folder, corpus.words, corpus.tag_names)
        write_marker(folder, corpus)


def arrays_of(corpus: Corpus) -> dict[str, NDArray[Any]]:
    """Return the arrays of a corpus by the names of their files."""
    titles = corpus.titles
    named = {} if titles is None else {"titles.offsets": titles.offsets, "titles.bytes": titles.data}
    return {
        "counts.indptr": corpus.counts.indptr.astype(np.int64, copy=False),
        "counts.indices": corpus.counts.indices,
        "counts.data": corpus.counts.data,
        "tags.indptr": corpus.tags.indptr.astype(np.int64, copy=False),
        "tags.indices": corpus.tags.indices,
        "tags.data": corpus.tags.data,
        "ids.offsets": corpus.ids.offsets,
        "ids.bytes": corpus.ids.data,
        **named,
    }


def write_names(folder: Path, words: Iterable[str], tag_names: Iterable[str]) -> None:
    """Write the words and the tag names."""
    for name, values in (("words", words), ("tags", tag_names)):
        text = json.dumps(list(values), ensure_ascii=False, indent=0)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


def write_marker(folder: Path, corpus: Corpus) -> None:
    """Write `corpus.json`, after all other files."""
    about = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"tagtopic {__version__}",
        "n_documents": len(corpus),
        "n_words": corpus.n_words,
        "n_tags": corpus.n_tags,
        "lengths": {name: len(array) for name, array in arrays_of(corpus).items()},
        "rules": None if corpus.rules is None else corpus.rules.to_json(),
    }
    (folder / MARKER).write_text(json.dumps(about, indent=2), encoding="utf-8")


def open_parts(path: Path) -> dict[str, Any]:
    """Return the arguments of `Corpus`, memory-mapped from the folder; raise if it is damaged."""
    about = _read_marker(path)
    words = _read_names(path, "words", about["n_words"])
    tag_names = _read_names(path, "tags", about["n_tags"])
    has_titles = all(name in about["lengths"] for name in TITLES)
    names = [*ARRAYS, *(TITLES if has_titles else ())]
    arrays = {name: _map(path, name, about["lengths"].get(name)) for name in names}
    for name in ("counts.indptr", "tags.indptr", "ids.offsets", *(["titles.offsets"] if has_titles else [])):
        _check_offsets(path, name, arrays, about["n_documents"])
    counts, tags = (
        matrices.csr(arrays[f"{m}.indptr"], arrays[f"{m}.indices"], arrays[f"{m}.data"], n)
        for m, n in (("counts", len(words)), ("tags", len(tag_names)))
    )
    return {
        "counts": counts,
        "tags": tags,
        "words": words,
        "tag_names": tag_names,
        "ids": StringArray(arrays["ids.offsets"], arrays["ids.bytes"]),
        "rules": _read_rules(path, about),
        "titles": StringArray(arrays["titles.offsets"], arrays["titles.bytes"]) if has_titles else None,
    }


def _read_marker(path: Path) -> dict[str, Any]:
    recover_folder(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no corpus at {path}")
    if not path.is_dir():
        raise ValueError(f"{path} is a file, not a corpus folder; Corpus.read reads files")
    if not (path / MARKER).is_file():
        raise ValueError(f"{path} is not a corpus folder: it has no {MARKER}")
    try:
        about = json.loads((path / MARKER).read_bytes())
    except ValueError:
        raise damaged_corpus(path, f"{MARKER} is not readable as JSON") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"{path} is not a corpus folder: its {MARKER} does not say that its format is {FORMAT!r}")
    version = about.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ValueError(
            f"the corpus at {path} was written by {about.get('written_by', 'a newer tagtopic')} in format {version}; "
            f"this tagtopic ({__version__}) reads formats up to {VERSION}: upgrade it"
        )
    sizes = [about.get(key) for key in ("n_documents", "n_words", "n_tags")]
    if version != VERSION or not all(isinstance(n, int) and n >= 0 for n in sizes):
        raise damaged_corpus(path, f"{MARKER} lacks its version or sizes")
    if not isinstance(about.get("lengths"), dict):
        raise damaged_corpus(path, f"{MARKER} lacks the lengths of the arrays")
    return about


def _read_rules(path: Path, about: dict[str, Any]) -> TextRules | None:
    if about.get("rules") is None:
        return None
    try:
        return TextRules.from_json(about["rules"])
    except ValueError as error:
        raise damaged_corpus(path, f"{MARKER}: {error}") from None


def _read_names(path: Path, name: str, expected: int) -> tuple[str, ...]:
    try:
        names = json.loads((path / f"{name}.json").read_bytes())
    except FileNotFoundError:
        raise damaged_corpus(path, f"{name}.json is missing") from None
    except ValueError:
        raise damaged_corpus(path, f"{name}.json is not readable as JSON") from None
    if not isinstance(names, list) or len(names) != expected or not all(isinstance(n, str) for n in names):
        raise damaged_corpus(path, f"{name}.json does not hold {expected} names")
    return tuple(names)


def _map(path: Path, name: str, length: int | None) -> NDArray[Any]:
    file, dtype = path / f"{name}.npy", {**ARRAYS, **TITLES}[name]
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise damaged_corpus(path, f"{file.name} is missing") from None
    except (ValueError, OSError, EOFError, SyntaxError) as error:
        raise damaged_corpus(path, f"{file.name} is truncated or not an array ({error})") from None
    if array.shape != (length,) or array.dtype not in (dtype, FRACTIONAL.get(name, dtype)):
        raise damaged_corpus(path, f"{file.name} holds {array.shape} {array.dtype}, not ({length},) {np.dtype(dtype)}")
    plain: NDArray[Any] = array.view(np.ndarray)
    return plain  # a plain array over the map: Numba and slices are quicker with it


def _check_offsets(path: Path, name: str, arrays: dict[str, NDArray[Any]], n_documents: int) -> None:
    offsets = arrays[name]
    owner = name.partition(".")[0]
    targets = [f"{owner}.bytes"] if name.endswith(".offsets") else [f"{owner}.indices", f"{owner}.data"]
    ends = {len(arrays[target]) for target in targets}
    if (
        len(offsets) != n_documents + 1
        or offsets[0] != 0
        or {int(offsets[-1])} != ends
        or not is_nondecreasing(offsets)
    ):
        raise damaged_corpus(path, f"{name}.npy does not fit the other arrays")


def fingerprint_of(corpus: Corpus) -> str:
    """Return a hexadecimal digest of the content of a corpus, the same on every machine."""
    digest = hashlib.blake2b(digest_size=16)
    counts, tags = corpus.counts, corpus.tags
    digest.update(f"{len(corpus)} {corpus.n_words} {corpus.n_tags} {counts.nnz} {tags.nnz}\n".encode())
    vocabularies = [StringArray.of(corpus.words), StringArray.of(corpus.tag_names)]
    arrays = [array for names in (*vocabularies, corpus.ids) for array in (names.offsets, names.data)]
    arrays += [matrix.indptr.astype(np.int64, copy=False) for matrix in (counts, tags)]
    arrays += [counts.indices, counts.data, tags.indices]
    for array in arrays:
        for start in range(0, len(array), DIGEST_BLOCK):
            block = array[start : start + DIGEST_BLOCK]
            digest.update(block.astype(block.dtype.newbyteorder("<"), copy=False).data)
            release(block)
    return digest.hexdigest()
