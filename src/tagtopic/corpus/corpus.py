"""The corpus: two sparse matrices (documents x words, documents x tags) and the names of their rows and columns."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagtopic._core.strings import StringArray
from tagtopic.corpus import description, matrices, splits, storage, validation
from tagtopic.corpus.reading.options import BuildOptions, ReadArguments, TextArguments, accepts, split_options
from tagtopic.corpus.tags import kind_of, select_tags
from tagtopic.corpus.text.rules import TagRules, TextRules
from tagtopic.corpus.vocabulary import Alignment, align

MAX_COMPARED = 100_000
"""Ids that are compared with one that does not exist."""


@dataclass(frozen=True)
class Document:
    """One document of a corpus.

    Attributes
    ----------
    id : str
        Its id.
    words : dict of str to int
        The count of each word.
    tags : tuple of str
        Its tags.
    title : str
        Its title, or the first words of its text; "" if the corpus has neither.

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
    title: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        by_count = sorted(self.words.items(), key=lambda item: -item[1])
        words = ", ".join(word if n == 1 else f"{word} x{n}" for word, n in by_count)
        return f"{self.id}\n  tags: {', '.join(self.tags) or '(none)'}\n  words: {words or '(none)'}"


class Corpus:
    """Documents with words and tags, immutable.

    Make one with `read`, `from_texts`, `from_counts` or `open`; the constructor takes parts that are already checked.
    Documents without words or without tags are kept. Ids are labels, not keys: they may repeat, as they do when
    documents are drawn with replacement; `describe` counts the repeats.

    Parameters
    ----------
    counts : csr_array, shape (n_documents, n_words)
        Count of each word in each document.
    tags : csr_array of ones, shape (n_documents, n_tags)
        The tags of each document.
    words : tuple of str
        The word of each column of `counts`.
    tag_names : tuple of str
        The tag of each column of `tags`.
    ids : StringArray
        The id of each document.
    rules : TextRules or None, default=None
        The rules by which texts became words.
    texts : StringArray or None, default=None
        The texts.
    titles : StringArray or None, default=None
        The titles.

    Attributes
    ----------
    counts : csr_array of int32 (float32 if not all counts are whole), shape (n_documents, n_words)
        Count of each word in each document. Its arrays are read-only, columns are sorted and unique in each row.
    tags : csr_array of ones, shape (n_documents, n_tags)
        The tags of each document, in the same form.
    words, tag_names, tag_kinds : tuple of str
        The word of each column of `counts`; the tag of each column of `tags`, and its kind.
    ids : StringArray
        The id of each document.
    rules : TextRules or None
        The rules by which texts became words; None if the corpus was made from counts.
    texts : StringArray or None
        The texts, if they are kept.
    titles : StringArray or None
        The title of each document, or the first words of its text; None if the corpus was made from counts.

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
    >>> corpus.titles is None
    True
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
        titles: StringArray | None = None,
    ) -> None:
        self._counts = counts
        self._tags = tags
        self._words = words
        self._tag_names = tag_names
        self._ids = ids
        self._rules = rules
        self._texts = texts
        self._titles = titles
        self._checked = False

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
        """Make a corpus from word counts.

        Parameters
        ----------
        counts : sparse matrix, array or data frame, shape (n_documents, n_words)
            Whole numbers; duplicate entries are added.
        tags : list of lists of str, sparse matrix, array or data frame, default=None
            The tags of each document (None for a document without), or zeros and ones (n_documents, n_tags). A tag
            given twice to a document counts once.
        words, tag_names, ids : iterable of str, default=None
            Names of the columns and rows. They default to the names of a data frame's columns, else to `word_0`…,
            to the names that occur, sorted (or `tag_0`… for a matrix), and to "0", "1", ….
        fractional : bool, default=False
            Whether counts may be fractional (weighted words).

        Returns
        -------
        Corpus
            The corpus.

        Raises
        ------
        ValueError
            If a count is negative, fractional, NaN or infinite, or shapes and names do not match.

        Examples
        --------
        >>> Corpus.from_counts([[2, 0, 1], [0, 3, 1]], [["blue"], ["red", "blue"]], words=["sea", "fire", "sky"])
        Corpus(2 documents, 3 words, 2 tags)
        """
        matrix = validation.counts_matrix(validation.matrix_of(counts, "counts"), fractional=fractional)
        names = validation.column_names(counts) if words is None else words
        word_names = validation.check_column_names(names, "words", "word", matrix.shape[1])
        corpus = Corpus(
            counts=matrix,
            words=word_names,
            ids=validation.check_ids(ids, matrix.shape[0]),
            **validation.check_tags(tags, tag_names, matrix.shape[0]),
        )
        corpus._checked = True
        return corpus

    @classmethod
    @accepts(TextArguments)
    def from_texts(cls, texts: Iterable[str | Sequence[str] | None], tags: Any = None, **options: Any) -> Corpus:
        """Make a corpus from texts in memory.

        Parameters
        ----------
        texts : iterable of str
            One text per document, or a list of its words, which are used unchanged; None is an empty text.
        tags : list of lists of str, sparse matrix, array or data frame, default=None
            The tags of each document (None for a document without), or zeros and ones (n_documents, n_tags).
        ids, tag_names : iterable of str, default=None
            Names of the documents and of the columns of `tags`, as in `from_counts`; the ids of a pandas series are
            by default those of its index.
        **options
            Rules, as a whole or by name, and options of building.

        Returns
        -------
        Corpus
            The corpus.

        Raises
        ------
        TypeError
            If a document is neither a text nor a list of words, or there is no option of that name.

        Examples
        --------
        >>> Corpus.from_texts(["The engine weaves", "Notes on the engine"], stop_words="en").words
        ('engine', 'notes', 'weaves')
        """
        from tagtopic.corpus.builder import CorpusBuilder, batches_of_texts
        from tagtopic.corpus.vocabulary import fixed_vocabulary

        ids, tag_names = options.pop("ids", None), options.pop("tag_names", None)
        given, rules, tag_rules = split_options(options, BuildOptions)
        words = given.pop("words", None)
        vocabulary = None if words is None else fixed_vocabulary(words)
        corpus = CorpusBuilder(rules, vocabulary=vocabulary, **given).build(
            batches_of_texts(texts, phrases=rules.bigrams is not None)
        )
        corpus = Corpus(
            counts=corpus.counts,
            words=corpus.words,
            ids=validation.check_ids(validation.index_of(texts) if ids is None else ids, len(corpus)),
            rules=corpus.rules,
            texts=corpus.texts,
            titles=corpus.titles,
            **validation.check_tags(tags, tag_names, len(corpus)),
        )
        return corpus.select_tags(tag_rules)

    @classmethod
    @accepts(ReadArguments)
    def read(cls, source: Any, **options: Any) -> Corpus:
        """Read a corpus from a file, a glob, a folder, a list of files, a data frame, or an open binary file.

        Files may be JSON Lines, CSV or TSV, Parquet, Arrow or Feather, plain text, or the paper authors' format, each
        possibly compressed (gz, zst, xz, bz2). They are streamed: what is larger than memory is kept on disk. The
        folder of a saved corpus is opened. A stream (standard input, an open file) without a given format is JSON
        Lines if its first line that is not blank begins with "{" or columns are named, else plain text with one
        document per line.

        Parameters
        ----------
        source : path, file or table
            A path, "-" for standard input, a glob, a folder, a list of paths, an open binary file, a pandas,
            polars or Arrow table, a Hugging Face dataset, or a list of dicts.
        **options
            Columns, formats, and rules, as a whole or by name.

        Returns
        -------
        Corpus
            The corpus.

        Raises
        ------
        ReadError
            If the source cannot be read; the message has the file and the line or row.
        FileNotFoundError
            If there is no such file.
        TypeError
            If there is no option of that name.

        Examples
        --------
        >>> films = [{"plot": "A murder", "director": "Coen"}, {"plot": "A ship in space", "director": "Scott"}]
        >>> Corpus.read(films, text="plot", tags="director").tag_names
        ('director:Coen', 'director:Scott')
        """
        from tagtopic.corpus.reading.reader import read_corpus

        return read_corpus(source, options)

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Corpus:
        """Open a saved corpus, memory-mapped: only the names are read, so that a corpus may be larger than memory.

        Parameters
        ----------
        path : path
            The folder.

        Returns
        -------
        Corpus
            The corpus.

        Raises
        ------
        FileNotFoundError
            If there is no such folder.
        ValueError
            If it is not a saved corpus, or damaged.

        Examples
        --------
        >>> Corpus.open("nowhere")
        Traceback (most recent call last):
        FileNotFoundError: ...
        """
        return cls(**storage.open_parts(Path(path)))

    @property
    def counts(self) -> Any:
        """Documents x words: the count of each word in each document."""
        return self._counts

    @property
    def tags(self) -> Any:
        """Documents x tags: 1 where a document has a tag."""
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
        """The rules by which texts became words; None if the corpus was made from counts."""
        return self._rules

    @property
    def texts(self) -> StringArray | None:
        """The text of each document, if they are kept (`keep_texts=True`), else None. `save` does not write them."""
        return self._texts

    @property
    def titles(self) -> StringArray | None:
        """The title of each document, or the first words of its text; None if the corpus was made from counts."""
        return self._titles

    @cached_property
    def tag_kinds(self) -> tuple[str, ...]:
        """The kind of each tag: the part before its first colon, "" if there is none."""
        return tuple(map(kind_of, self._tag_names))

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self._ids)

    @property
    def n_words(self) -> int:
        """Number of words in the vocabulary."""
        return len(self._words)

    @property
    def n_tags(self) -> int:
        """Number of tags."""
        return len(self._tag_names)

    @property
    def n_tokens(self) -> int:
        """Number of tokens; of fractional counts the whole part of their sum, but at least 1 if there are words."""
        return self._n_tokens

    @cached_property
    def _n_tokens(self) -> int:
        total = self.lengths().sum()
        return max(int(total), int(total > 0))

    def lengths(self) -> NDArray[Any]:
        """Return the number of tokens of each document.

        Examples
        --------
        >>> corpus.lengths().tolist()
        [2, 2]
        """
        return matrices.row_sums(self._counts)

    def word_counts(self) -> NDArray[np.float64]:
        """Return the number of tokens of each word.

        Examples
        --------
        >>> corpus.word_counts().tolist()
        [3.0, 1.0]
        """
        return matrices.column_sums(self._counts)

    def tag_sizes(self) -> NDArray[np.int64]:
        """Return the number of documents of each tag.

        Examples
        --------
        >>> corpus.tag_sizes().tolist()
        [1]
        """
        return matrices.column_counts(self._tags)

    def document_sizes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the number of distinct words, and the number of tags, of each document.

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
    def __getitem__(self, index: int | str) -> Document: ...
    @overload
    def __getitem__(self, index: slice | Sequence[Any] | NDArray[Any]) -> Corpus: ...
    def __getitem__(self, index: Any) -> Document | Corpus:
        """Return one document by its position or id, or a corpus of the same vocabulary by slice, mask or positions.

        Of documents with the same id the first is returned. A slice of consecutive documents shares the arrays of this
        corpus.
        """
        if isinstance(index, str):
            return self._document(self._position(index))
        if isinstance(index, int | np.integer):
            return self._document(int(index))
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return self._range(start, max(start, stop))
            return self._take(np.arange(start, stop, step, dtype=np.int64))
        return self._take(positions_of(index, len(self)))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: len(self) - 1 - i for i, name in enumerate(reversed(list(self._ids)))}

    def _position(self, name: str) -> int:
        if name not in self._positions:
            near = difflib.get_close_matches(name, islice(self._positions, MAX_COMPARED), 3)
            hint = f"; near it are {', '.join(map(repr, near))}" if near else ""
            raise KeyError(f"there is no document {name!r}{hint}")
        return self._positions[name]

    def _document(self, index: int) -> Document:
        i = index + len(self) if index < 0 else index
        if not 0 <= i < len(self):
            raise IndexError(f"there is no document {index}: the corpus has {len(self)} documents")
        counts, tags = matrices.take_row_range(self._counts, i, i + 1), matrices.take_row_range(self._tags, i, i + 1)
        words = {self._words[j]: n for j, n in zip(counts.indices.tolist(), counts.data.tolist(), strict=True)}
        title = "" if self._titles is None else self._titles[i]
        return Document(self._ids[i], words, tuple(self._tag_names[j] for j in tags.indices), title)

    def _range(self, start: int, stop: int) -> Corpus:
        part = self._with(
            matrices.take_row_range(self._counts, start, stop),
            matrices.take_row_range(self._tags, start, stop),
            self._ids[start:stop],
            None if self._texts is None else self._texts[start:stop],
            None if self._titles is None else self._titles[start:stop],
        )
        part._checked = self._checked
        return part

    def _take(self, rows: NDArray[np.int64]) -> Corpus:
        texts = None if self._texts is None else self._texts.take(rows)
        counts, tags = matrices.take_rows(self._counts, rows), matrices.take_rows(self._tags, rows)
        titles = None if self._titles is None else self._titles.take(rows)
        part = self._with(counts, tags, self._ids.take(rows), texts, titles)
        part._checked = self._checked
        return part

    def check(self) -> None:
        """Check that both matrices have the form that `Corpus` describes, once.

        Fits and questions do it, because the arrays of a saved corpus are not read when it is opened, and the
        constructor does not read its arguments.

        Raises
        ------
        ValueError
            If a file is damaged, or a matrix is not in this form.

        Examples
        --------
        >>> corpus.check()
        """
        if not self._checked:
            matrices.check_canonical(self._counts, "counts")
            matrices.check_canonical(self._tags, "tags")
            self._checked = True

    def with_matrices(self, *, counts: Any = None, tags: Any = None) -> Corpus:
        """Return the corpus with another matrix of counts or of tags.

        Parameters
        ----------
        counts, tags : csr_array, default=None
            Matrices of the same shape, in the form that `Corpus` describes; None: unchanged.

        Returns
        -------
        Corpus
            The same documents with the other matrices.

        Examples
        --------
        >>> corpus.with_matrices(counts=2 * corpus.counts).n_tokens
        8
        """
        counts = self._counts if counts is None else counts
        tags = self._tags if tags is None else tags
        return self._with(counts, tags, self._ids, self._texts, self._titles)

    def with_texts(self, texts: Iterable[str] | None) -> Corpus:
        """Return the corpus with other texts.

        Parameters
        ----------
        texts : iterable of str or None
            One text per document; None: the corpus keeps no texts.

        Returns
        -------
        Corpus
            The same documents with the texts.

        Raises
        ------
        ValueError
            If the number of texts is not the number of documents.

        Examples
        --------
        >>> corpus.with_texts(["The engine", "A note on the engine"]).texts[0]
        'The engine'
        """
        packed = None if texts is None else StringArray.of(texts, errors="replace")
        if packed is not None and len(packed) != len(self):
            raise ValueError(f"there are {len(self)} documents but {len(packed)} texts")
        return self._with(self._counts, self._tags, self._ids, packed, self._titles)

    def with_titles(self, titles: Iterable[str] | None) -> Corpus:
        """Return the corpus with other titles.

        Parameters
        ----------
        titles : iterable of str or None
            One title per document; None: the corpus has none.

        Returns
        -------
        Corpus
            The same documents with the titles.

        Raises
        ------
        ValueError
            If the number of titles is not the number of documents.

        Examples
        --------
        >>> corpus.with_titles(["On engines", "Notes"])[1].title
        'Notes'
        """
        packed = None if titles is None else StringArray.of(titles, errors="replace")
        if packed is not None and len(packed) != len(self):
            raise ValueError(f"there are {len(self)} documents but {len(packed)} titles")
        return self._with(self._counts, self._tags, self._ids, self._texts, packed)

    def _with(
        self, counts: Any, tags: Any, ids: StringArray, texts: StringArray | None, titles: StringArray | None
    ) -> Corpus:
        return Corpus(
            counts=counts,
            tags=tags,
            words=self._words,
            tag_names=self._tag_names,
            ids=ids,
            rules=self._rules,
            texts=texts,
            titles=titles,
        )

    def __repr__(self) -> str:
        return f"Corpus({len(self):,} documents, {self.n_words:,} words, {self.n_tags:,} tags)"

    def _repr_html_(self) -> str:
        return self.describe(10)._repr_html_()

    def __reduce__(self) -> tuple[Any, ...]:
        parts = [
            (np.array(m.indptr), np.array(m.indices), np.array(m.data), m.shape[1]) for m in (self._counts, self._tags)
        ]
        return _rebuild, (*parts, self._words, self._tag_names, self._ids, self._rules, self._texts, self._titles)

    def split(
        self,
        test_size: float | int = 0.2,
        random_state: int | np.random.Generator | None = 0,
        *,
        groups: ArrayLike | None = None,
    ) -> tuple[Corpus, Corpus]:
        """Split the documents at random; each part is in the order of this corpus.

        Parameters
        ----------
        test_size : float or int, default=0.2
            A share between 0 and 1, or a number of documents.
        random_state : int, Generator or None, default=0
            Seed.
        groups : array-like, shape (n_documents,), default=None
            Labels: documents of one group stay together, and the size of the test part is as near to `test_size` as
            whole groups allow.

        Returns
        -------
        train, test : Corpus
            The two parts.

        Examples
        --------
        >>> train, test = Corpus.from_counts([[1]] * 10).split(0.2)
        >>> len(train), len(test)
        (8, 2)
        """
        in_test = splits.test_mask(len(self), test_size, random_state, groups)
        return self[~in_test], self[in_test]

    def without_near_duplicates(self, threshold: float = 0.6) -> Corpus:
        """Drop documents that share most of their distinct words with an earlier one.

        Do so before a split: a model predicts a document too well if it was fitted to a copy of it.

        Parameters
        ----------
        threshold : float, default=0.6
            The least share of the distinct words of the longer document that both have.

        Returns
        -------
        Corpus
            The first of each set of near-duplicates, and all other documents, in their order.

        Raises
        ------
        ValueError
            If the threshold is not above 0 and at most 1.

        Examples
        --------
        >>> texts = ["a ship flies to a planet", "police hunt a killer", "a ship flies to the planet"]
        >>> list(Corpus.from_texts(texts).without_near_duplicates().ids)
        ['0', '1']
        """
        from tagtopic.corpus.splits import first_copies

        return self[np.flatnonzero(first_copies(self.counts, threshold) < 0)]

    def align(self, words: Sequence[str], tag_names: Sequence[str]) -> Alignment:
        """Return the documents in the columns of another vocabulary.

        Parameters
        ----------
        words, tag_names : sequence of str
            The other vocabulary.

        Returns
        -------
        Alignment
            The corpus, with the number of tokens and the tags that are dropped because the vocabulary lacks them.

        Examples
        --------
        >>> alignment = corpus.align(["note", "weave"], ["author:Mary"])
        >>> alignment.corpus.counts.toarray().tolist(), alignment.unknown_tags
        ([[0, 0], [1, 0]], ('author:Ada',))
        """
        return align(self, words, tag_names)

    def select_tags(self, rules: TagRules) -> Corpus:
        """Return the documents with the tags that the rules keep.

        Parameters
        ----------
        rules : TagRules
            Which tags to keep.

        Returns
        -------
        Corpus
            The documents without the other tags; documents that lose all their tags are kept.

        Examples
        --------
        >>> from tagtopic.corpus import TagRules
        >>> corpus.select_tags(TagRules(drop_kinds=["author"])).n_tags
        0
        """
        return select_tags(self, rules)

    def describe(self, n: int = 10) -> description.Description:
        """Return summary statistics, to be printed.

        Parameters
        ----------
        n : int, default=10
            Number of most used tags and words to include.

        Returns
        -------
        Description
            The statistics; `print` shows them as a short text.

        Examples
        --------
        >>> corpus.describe().n_untagged
        1
        """
        return description.describe(self, n)

    def fingerprint(self) -> str:
        """Return a hexadecimal digest of the content, the same on every machine. Texts are not part of it.

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
        """Write the corpus as a folder, atomically; an older corpus there is replaced. Texts are not written.

        Parameters
        ----------
        path : path
            The folder.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     corpus.save(f"{folder}/corpus")
        ...     len(Corpus.open(f"{folder}/corpus"))
        2
        """
        storage.save(self, Path(path))


def positions_of(index: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return positions among n documents from a list of positions (negative ones from the end) or a mask."""
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


def _rebuild(
    counts: Any,
    tags: Any,
    words: Any,
    tag_names: Any,
    ids: StringArray,
    rules: TextRules | None,
    texts: StringArray | None = None,
    titles: StringArray | None = None,
) -> Corpus:
    return Corpus(
        counts=matrices.csr(*counts),
        tags=matrices.csr(*tags),
        words=words,
        tag_names=tag_names,
        ids=ids,
        rules=rules,
        texts=texts,
        titles=titles,
    )
