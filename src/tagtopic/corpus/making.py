"""How a corpus is made: from counts, from texts, from files and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from tagtopic.corpus import checks, frames, matrices
from tagtopic.corpus.rules import RuleOptions, TagRules, TextRules, with_options

if TYPE_CHECKING:
    from tagtopic.corpus.corpus import Corpus


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
        from tagtopic.corpus.corpus import Corpus  # it is above this module, as what is imported below

        matrix = matrices.counts_matrix(frames.matrix_of(counts, "counts"), fractional=fractional)
        names = frames.column_names(counts) if words is None else words
        word_names = checks.column_names(names, "words", "word", matrix.shape[1])
        return Corpus(
            counts=matrix,
            words=word_names,
            ids=checks.ids(ids, matrix.shape[0]),
            **checks.tags(tags, tag_names, matrix.shape[0]),
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
        options:
            Single rules by name, such as `min_df=3` or `stop_words="de"`; see `TextRules` and `TagRules`.

        Examples
        --------
        >>> Corpus.from_texts(["The engine weaves", "Notes on the engine"], stop_words="en").words
        ('engine', 'notes', 'weaves')
        """
        from tagtopic.corpus import building, known, rows
        from tagtopic.corpus.corpus import Corpus

        text_rules, tag_rules = with_options(rules, tag_rules, options)
        vocabulary = None if words is None else known.known_words(words)
        plan = building.Plan(text_rules, words=vocabulary, n_jobs=n_jobs)
        corpus = building.build(rows.rows_of_texts(texts, phrases=text_rules.bigrams is not None), plan)
        given = checks.tags(tags, tag_names, len(corpus))
        corpus = Corpus(
            counts=corpus.counts,
            words=corpus.words,
            ids=checks.ids(ids, len(corpus)),
            rules=corpus.rules,
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
        texts_into: list[str] | None = None,
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
        words, rules, tag_rules, n_jobs, options:
            As in `from_texts`.
        progress:
            Whether a bar is shown; None: if standard error is a terminal.
        texts_into:
            A list that the texts are added to, in the order of the documents: a corpus keeps only counts.

        Examples
        --------
        >>> films = [{"plot": "A murder", "director": "Coen"}, {"plot": "A ship in space", "director": "Scott"}]
        >>> Corpus.read(films, text="plot", tags="director").tag_names
        ('director:Coen', 'director:Scott')
        """
        from tagtopic.corpus.reading.read import read_source

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
            texts_into=texts_into,
        )
