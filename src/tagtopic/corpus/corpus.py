"""The immutable Corpus: two sparse matrices (documents x words, documents x tags) and the names of everything.

One document as a person reads it.

Which documents an index means.

How a corpus is made: from counts, from texts, from files and tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagtopic._core.strings import StringArray
from tagtopic.corpus import alignment, description, matrices, splits, storage
from tagtopic.corpus import matrices as frames
from tagtopic.corpus.alignment import Alignment
from tagtopic.corpus.tags import kind_of
from tagtopic.corpus.text.rules import RuleOptions, TagRules, TextRules, with_options

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Document:
    """One document as a person reads it: its id, how often each word occurs, and its tags.

    Examples
    --------
    >>> from tagtopic import Corpus
    >>> print(Corpus.from_counts([[2, 1]], [["Ada"]], words=["engine", "note"], ids=["letter"])[0])
    letter
      tags: Ada
      words: engine x2, note
    """

    id: str
    words: dict[str, int]
    tags: tuple[str, ...]

    def __str__(self) -> str:
        by_count = sorted(self.words.items(), key=lambda item: -item[1])
        words = ", ".join(word if n == 1 else f"{word} x{n}" for word, n in by_count)
        return f"{self.id}\n  tags: {', '.join(self.tags) or '(none)'}\n  words: {words or '(none)'}"


def _positions(index: ArrayLike, n: int) -> NDArray[np.int64]:
    """The positions chosen among n documents by a list of numbers (negative ones from the end) or a mask."""
    chosen = np.asarray(index)
    if chosen.ndim != 1:
        raise IndexError(f"documents are chosen by a number, a slice, or a list of numbers or a mask, not {index!r}")
    if chosen.dtype.kind == "b":
        if len(chosen) != n:
            raise IndexError(f"a mask of {len(chosen)} values cannot choose among {n} documents")
        return np.flatnonzero(chosen)
    if len(chosen) and chosen.dtype.kind not in "iu":
        raise IndexError(f"documents are chosen by whole numbers or a mask, not by {chosen.dtype}")
    chosen = chosen.astype(np.int64)
    outside = (chosen < -n) | (chosen >= n)
    if outside.any():
        raise IndexError(f"there is no document {chosen[outside][0]}: the corpus has {n} documents")
    return np.where(chosen < 0, chosen + n, chosen)


class Making:
    """The constructors that people use of `Corpus`; a saved corpus is opened by `Corpus.open`."""

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        tags: Any = None,
        *,
        words: Iterable[str] | None = None,
        tag_names: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
        fractional: bool = False,
    ) -> Corpus:
        """A corpus from word counts that exist already.

        Parameters
        ----------
        counts:
            Documents x words: any scipy sparse matrix, array or data frame of whole numbers. Entries given
            twice are added; negative, fractional, NaN and infinite ones are a `ValueError`.
        tags:
            None, a list of tag names for each document (None for a document without), or a sparse matrix,
            array or data frame of zeros and ones. A tag given twice to a document counts once.
        words, tag_names, ids:
            Names of the columns and rows. They default to the names of a data frame's columns, else to `word_0`…,
            to the names that occur, sorted (or `tag_0`… for a matrix), and to "0", "1", ….
        fractional:
            Take counts that are not whole (weighted words) as they are.

        Examples
        --------
        >>> Corpus.from_counts([[2, 0, 1], [0, 3, 1]], [["blue"], ["red", "blue"]], words=["sea", "fire", "sky"])
        Corpus(2 documents, 3 words, 2 tags)
        """
        pass  # it is above this module, as what is imported below

        matrix = matrices.counts_matrix(frames.matrix_of(counts, "counts"), fractional=fractional)
        names = frames.column_names(counts) if words is None else words
        word_names = matrices.check_column_names(names, "words", "word", matrix.shape[1])
        return Corpus(
            counts=matrix,
            words=word_names,
            ids=matrices.check_ids(ids, matrix.shape[0]),
            **matrices.check_tags(tags, tag_names, matrix.shape[0]),
        )

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str | Sequence[str] | None],
        tags: Any = None,
        *,
        ids: Iterable[str] | None = None,
        tag_names: Iterable[str] | None = None,
        words: Iterable[str] | None = None,
        rules: TextRules | None = None,
        tag_rules: TagRules | None = None,
        n_jobs: int | None = None,
        keep_texts: bool = False,
        **options: Unpack[RuleOptions],
    ) -> Corpus:
        """A corpus from texts in memory.

        Parameters
        ----------
        texts:
            One text a document, or a list of its words, which are then taken as they are; None counts as an empty one.
        tags, tag_names, ids:
            As in `from_counts`.
        words:
            A vocabulary to use as it is, such as a model's; by default it is chosen from the texts.
        rules, tag_rules:
            How texts become words and which words and tags are kept.
        n_jobs:
            Threads; None: one for each core. The result is the same for any number.
        keep_texts:
            Whether the corpus keeps the texts, as `texts`; of documents given as words it keeps none.
        options:
            Single rules by name, such as `min_df=3` or `stop_words="de"`; see `TextRules` and `TagRules`.

        Examples
        --------
        >>> Corpus.from_texts(["The engine weaves", "Notes on the engine"], stop_words="en").words
        ('engine', 'notes', 'weaves')
        """
        from tagtopic.corpus import builder
        from tagtopic.corpus import vocabulary as known

        pass

        text_rules, tag_rules = with_options(rules, tag_rules, options)
        vocabulary = None if words is None else known.known_words(words)
        plan = builder.Plan(text_rules, words=vocabulary, n_jobs=n_jobs, keep_texts=keep_texts)
        corpus = builder.build(builder.rows_of_texts(texts, phrases=text_rules.bigrams is not None), plan)
        given = matrices.check_tags(tags, tag_names, len(corpus))
        corpus = Corpus(
            counts=corpus.counts,
            words=corpus.words,
            ids=matrices.check_ids(ids, len(corpus)),
            rules=corpus.rules,
            texts=corpus.texts,
            **given,
        )
        return corpus.select_tags(tag_rules)

    @classmethod
    def read(
        cls,
        source: Any,
        *,
        text: str | Iterable[str] = "text",
        tags: str | Iterable[str] | None = None,
        id: str | None = None,
        tag_separator: str | None = None,
        format: str | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        dictionaries: tuple[str | PathLike[str], str | PathLike[str]] | None = None,
        on_error: str = "raise",
        to: str | PathLike[str] | None = None,
        words: Iterable[str] | None = None,
        rules: TextRules | None = None,
        tag_rules: TagRules | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        keep_texts: bool = False,
        **options: Unpack[RuleOptions],
    ) -> Corpus:
        """A corpus from a file, a glob, a folder, a list of files, a data frame, or an open binary file.

        Files may be JSON Lines, CSV or TSV, Parquet, Arrow or Feather, plain text, or the paper authors' format, as
        they are or compressed (gz, zst, xz, bz2). They are streamed: what is larger than memory goes to disk on the
        way. The folder of a saved corpus is opened. A stream (standard input, an open file) of no given format is
        JSON Lines if its first line that is not blank begins with "{" or columns are named, else plain text: one
        document a line.

        Parameters
        ----------
        source:
            A path, "-" for standard input, a glob, a folder, a list of paths, an open binary file, a pandas,
            polars or Arrow table, a Hugging Face dataset, or a list of dicts.
        text:
            The column or columns with the text.
        tags, tag_separator:
            The column or columns with tags: a list (also one that was written as a text, as in "['a', 'b']"), a
            string (split at `tag_separator` if given) or a single value each. A tag is prefixed by its column's name
            as its kind, unless it already reads `kind:value` or the column is called `tags`. None: the column `tags`,
            if there is one.
        id:
            The column with the ids. None: the column `id`, if there is one, else the position.
        format, delimiter, encoding:
            What the names and first bytes of the files do not say, such as `format="csv"`, `format="text"` (each line
            is a document) or `format="files"` (each file is one; its place is its id, `tags="folder"` its folder).
        dictionaries:
            For the authors' format: the files that name words and tags, if not `words.txt` and `tags.txt`.
        on_error:
            "raise" an error at the first bad row, or "skip" bad rows and tell how many in one warning.
        to:
            A folder where the corpus is made, to be opened again with `Corpus.open`; it appears whole or not at all.
        words, rules, tag_rules, n_jobs, keep_texts, options:
            As in `from_texts`.
        progress:
            Whether a bar is shown; None: if standard error is a terminal.

        Examples
        --------
        >>> films = [{"plot": "A murder", "director": "Coen"}, {"plot": "A ship in space", "director": "Scott"}]
        >>> Corpus.read(films, text="plot", tags="director").tag_names
        ('director:Coen', 'director:Scott')
        """
        from tagtopic.corpus.reading.reader import read_source

        text_rules, tag_rules = with_options(rules, tag_rules, options)
        return read_source(
            source,
            text=text,
            tags=tags,
            id=id,
            tag_separator=tag_separator,
            format=format,
            delimiter=delimiter,
            encoding=encoding,
            dictionaries=dictionaries,
            on_error=on_error,
            to=to,
            words=words,
            rules=text_rules,
            tag_rules=tag_rules,
            n_jobs=n_jobs,
            progress=progress,
            keep_texts=keep_texts,
        )


class Corpus(Making):
    """Documents with words and tags. Make one with `read`, `from_texts`, `from_counts` or `open`; it never changes.

    Attributes: `counts` (documents x words, int32, or float32 if not all are whole) and `tags` (documents x
    tags, ones) are `scipy.sparse.csr_array` with read-only arrays, int32 columns (sorted, unique) and row offsets;
    `words`, `tag_names` and `tag_kinds` are tuples of strings; `ids` is a sequence of strings.

    Documents without words or without tags are kept. Ids are labels, not keys: they may repeat, as
    they must when documents are drawn with replacement; `describe` counts the repeats.

    Examples
    --------
    >>> from tagtopic import Corpus
    >>> corpus = Corpus.from_counts([[2, 0], [1, 1]], [["author:Ada"], []], words=["engine", "note"])
    >>> corpus[0]
    Document(id='0', words={'engine': 2}, tags=('author:Ada',))
    >>> corpus.n_documents, corpus.n_words, corpus.n_tags, corpus.n_tokens
    (2, 2, 1, 4)
    >>> corpus.words, corpus.tag_names, corpus.tag_kinds, list(corpus.ids)
    (('engine', 'note'), ('author:Ada',), ('author',), ['0', '1'])
    >>> corpus.counts.toarray().tolist(), corpus.tags.toarray().tolist(), corpus.rules, corpus.texts
    ([[2, 0], [1, 1]], [[1], [0]], None, None)
    """

    def __init__(
        self,
        *,
        counts: Any,
        tags: Any,
        words: tuple[str, ...],
        tag_names: tuple[str, ...],
        ids: StringArray,
        rules: TextRules | None = None,
        texts: StringArray | None = None,
    ) -> None:
        """Take parts that are already checked and canonical; people use the other constructors."""
        self._counts = counts
        self._tags = tags
        self._words = words
        self._tag_names = tag_names
        self._ids = ids
        self._rules = rules
        self._texts = texts

    @property
    def counts(self) -> Any:
        """Documents x words: how often each word occurs in each document."""
        return self._counts

    @property
    def tags(self) -> Any:
        """Documents x tags: one where the document has the tag."""
        return self._tags

    @property
    def words(self) -> tuple[str, ...]:
        """The word of each column of `counts`."""
        return self._words

    @property
    def tag_names(self) -> tuple[str, ...]:
        """The tag of each column of `tags`."""
        return self._tag_names

    @property
    def ids(self) -> StringArray:
        """The id of each document."""
        return self._ids

    @property
    def rules(self) -> TextRules | None:
        """How the texts became words; None when the corpus was made from counts."""
        return self._rules

    @property
    def texts(self) -> StringArray | None:
        """The text of each document, if they were kept (`keep_texts=True`); None otherwise. They are not saved."""
        return self._texts

    @cached_property
    def tag_kinds(self) -> tuple[str, ...]:
        """The kind of each tag: what stands before its first colon, "" when there is none."""
        return tuple(map(kind_of, self._tag_names))

    @property
    def n_documents(self) -> int:
        """How many documents there are."""
        return len(self._ids)

    @property
    def n_words(self) -> int:
        """How many different words the vocabulary has."""
        return len(self._words)

    @property
    def n_tags(self) -> int:
        """How many different tags the vocabulary has."""
        return len(self._tag_names)

    @property
    def n_tokens(self) -> int:
        """How many words there are in all, repeats counted; of fractional counts their whole part, but 0 only if there
        are no words.
        """
        return self._n_tokens

    @cached_property
    def _n_tokens(self) -> int:
        total = self.lengths().sum()
        return max(int(total), int(total > 0))

    def lengths(self) -> NDArray[Any]:
        """How many words each document has, repeats counted.

        Examples
        --------
        >>> corpus.lengths().tolist()
        [2, 2]
        """
        return matrices.row_sums(self._counts)

    def word_counts(self) -> NDArray[np.float64]:
        """How often each word occurs.

        Examples
        --------
        >>> corpus.word_counts().tolist()
        [3.0, 1.0]
        """
        return matrices.column_sums(self._counts)

    def tag_sizes(self) -> NDArray[np.int64]:
        """How many documents have each tag.

        Examples
        --------
        >>> corpus.tag_sizes().tolist()
        [1]
        """
        return matrices.column_sizes(self._tags)

    def document_sizes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """How many different words, and how many tags, each document has.

        Examples
        --------
        >>> [sizes.tolist() for sizes in corpus.document_sizes()]
        [[1, 2], [1, 0]]
        """
        return np.diff(self._counts.indptr), np.diff(self._tags.indptr)

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Document]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Document: ...
    @overload
    def __getitem__(self, index: slice | Sequence[Any] | NDArray[Any]) -> Corpus: ...
    def __getitem__(self, index: Any) -> Document | Corpus:
        """One document by its position, or a corpus of the same vocabulary by slice, mask or positions.

        A slice of consecutive documents shares the arrays of this corpus.
        """
        if isinstance(index, int | np.integer):
            return self._document(int(index))
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return self._range(start, max(start, stop))
            return self._take(np.arange(start, stop, step, dtype=np.int64))
        return self._take(_positions(index, len(self)))

    def _document(self, index: int) -> Document:
        i = index + len(self) if index < 0 else index
        if not 0 <= i < len(self):
            raise IndexError(f"there is no document {index}: the corpus has {len(self)} documents")
        counts, tags = matrices.take_range(self._counts, i, i + 1), matrices.take_range(self._tags, i, i + 1)
        words = {self._words[j]: n for j, n in zip(counts.indices.tolist(), counts.data.tolist(), strict=True)}
        return Document(self._ids[i], words, tuple(self._tag_names[j] for j in tags.indices))

    def _range(self, start: int, stop: int) -> Corpus:
        return self._with(
            matrices.take_range(self._counts, start, stop),
            matrices.take_range(self._tags, start, stop),
            self._ids[start:stop],
            None if self._texts is None else self._texts[start:stop],
        )

    def _take(self, rows: NDArray[np.int64]) -> Corpus:
        texts = None if self._texts is None else self._texts.take(rows)
        counts, tags = matrices.take(self._counts, rows), matrices.take(self._tags, rows)
        return self._with(counts, tags, self._ids.take(rows), texts)

    def with_matrices(self, *, counts: Any = None, tags: Any = None) -> Corpus:
        """The same documents and names with another matrix of counts or of tags, which must be as `Corpus` says.

        Examples
        --------
        >>> corpus.with_matrices(counts=2 * corpus.counts).n_tokens
        8
        """
        counts = self._counts if counts is None else counts
        tags = self._tags if tags is None else tags
        return self._with(counts, tags, self._ids, self._texts)

    def with_texts(self, texts: Iterable[str] | None) -> Corpus:
        """The same documents with these texts, one a document, or without texts.

        Examples
        --------
        >>> corpus.with_texts(["The engine", "A note on the engine"]).texts[0]
        'The engine'
        """
        packed = None if texts is None else StringArray.of(texts, errors="replace")
        if packed is not None and len(packed) != len(self):
            raise ValueError(f"there are {len(self)} documents but {len(packed)} texts")
        return self._with(self._counts, self._tags, self._ids, packed)

    def _with(self, counts: Any, tags: Any, ids: StringArray, texts: StringArray | None) -> Corpus:
        return Corpus(
            counts=counts,
            tags=tags,
            words=self._words,
            tag_names=self._tag_names,
            ids=ids,
            rules=self._rules,
            texts=texts,
        )

    def __repr__(self) -> str:
        return f"Corpus({len(self):,} documents, {self.n_words:,} words, {self.n_tags:,} tags)"

    def _repr_html_(self) -> str:
        return self.describe(10)._repr_html_()

    def __reduce__(self) -> tuple[Any, ...]:
        parts = [
            (np.array(m.indptr), np.array(m.indices), np.array(m.data), m.shape[1]) for m in (self._counts, self._tags)
        ]
        return _rebuild, (*parts, self._words, self._tag_names, self._ids, self._rules, self._texts)

    def split(
        self,
        test_size: float | int = 0.2,
        random_state: int | np.random.Generator | None = 0,
        *,
        groups: ArrayLike | None = None,
    ) -> tuple[Corpus, Corpus]:
        """Two corpora, (train, test), drawn at random and each in the order of this one.

        `test_size` is a share between 0 and 1 or a number of documents. With `groups`, one label a
        document, documents of one group stay together and the test part comes as near to its size as
        whole groups allow.

        Examples
        --------
        >>> train, test = Corpus.from_counts([[1]] * 10).split(0.2)
        >>> len(train), len(test)
        (8, 2)
        """
        in_test = splits.test_mask(len(self), test_size, random_state, groups)
        return self[~in_test], self[in_test]

    def align(self, words: Sequence[str], tag_names: Sequence[str]) -> Alignment:
        """The same documents in the columns of another vocabulary.

        Words and tags that it does not have are dropped; the result counts the first and names the
        second (those that documents here carry).

        Examples
        --------
        >>> alignment = corpus.align(["note", "weave"], ["author:Mary"])
        >>> alignment.corpus.counts.toarray().tolist(), alignment.unknown_tags
        ([[0, 0], [1, 0]], ('author:Ada',))
        """
        return alignment.align(self, words, tag_names)

    def select_tags(self, rules: TagRules) -> Corpus:
        """The same documents with only the tags that the rules keep.

        Examples
        --------
        >>> from tagtopic.corpus import TagRules
        >>> corpus.select_tags(TagRules(drop_kinds=["author"])).n_tags
        0
        """
        return alignment.select_tags(self, rules)

    def describe(self, n: int = 10) -> description.Description:
        """Figures a person wants first, with the n most used tags and words; `print` it.

        Examples
        --------
        >>> corpus.describe().n_untagged
        1
        """
        return description.describe(self, n)

    def fingerprint(self) -> str:
        """A hexadecimal digest of everything in the corpus: the same content gives the same digest anywhere.

        Examples
        --------
        >>> corpus.fingerprint() == corpus[:].fingerprint()
        True
        """
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return storage.fingerprint_of(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the corpus as a folder, whole or not at all; an older corpus there is replaced.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     corpus.save(f"{folder}/corpus")
        ...     len(Corpus.open(f"{folder}/corpus"))
        2
        """
        storage.save(self, Path(path))

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Corpus:
        """A saved corpus, memory-mapped: only the names are read, so a corpus may be larger than memory.

        Examples
        --------
        >>> Corpus.open("nowhere")
        Traceback (most recent call last):
        FileNotFoundError: ...
        """
        return cls(**storage.open_parts(Path(path)))


def _rebuild(
    counts: Any,
    tags: Any,
    words: Any,
    tag_names: Any,
    ids: StringArray,
    rules: TextRules | None,
    texts: StringArray | None = None,
) -> Corpus:
    return Corpus(
        counts=matrices.csr(*counts),
        tags=matrices.csr(*tags),
        words=words,
        tag_names=tag_names,
        ids=ids,
        rules=rules,
        texts=texts,
    )
