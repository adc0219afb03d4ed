"""The engine contract: where documents are inferred.

An ``Engine`` opens a ``Session`` over a corpus. The session keeps the posterior of each document from one E-step to
the next. The models alternate its ``e_step`` with ``inference.m_step``, wherever the documents are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from threading import Lock
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Int32s, Int64s
from tagtopic._core.parallel import ThreadPool
from tagtopic.corpus.interface import RemoteCorpus
from tagtopic.corpus.reading.options import ReadOptions
from tagtopic.engines.posterior import SWEEPS, TOLERANCE, DocumentPosteriors
from tagtopic.inference.gibbs import Assignments, SamplerPriors, TopicCounts
from tagtopic.inference.methods import method_of
from tagtopic.inference.own_words import OwnWordCandidates, own_word_candidates
from tagtopic.inference.priors.tag_weights import Evidence, HyperPrior
from tagtopic.inference.types import Parameters, Statistics, VariationalPosterior

Item = TypeVar("Item")
Result = TypeVar("Result")

_LOCK = Lock()
"""Guards the counts of engines' users; one for all, so that engines can be copied and pickled."""


class Engine(ABC):
    """Where documents are inferred: on this machine, or on a cluster.

    To add an engine, subclass this, write its ``Session`` and add its name to ``tagtopic.engines.ENGINES``; nothing in
    ``models`` or ``cli`` changes.

    In a ``with`` block of the engine, its sessions share what is expensive to start: threads, or a connection to a
    cluster. Without one, each session starts and stops its own.

    Attributes
    ----------
    supports_online : bool
        Whether sessions over mini-batches of a corpus on this machine are cheap enough for online learning.
    supports_sampling : bool
        Whether there is a sampler, for ``inference="gibbs"``.
    n_jobs : int or None
        Threads on this machine; None or -1 is one for each core.
    """

    supports_online: ClassVar[bool] = False
    supports_sampling: ClassVar[bool] = False
    n_jobs: int | None = None
    _users = 0
    _pool: ThreadPool | None = None

    @abstractmethod
    def session(
        self, corpus: Any, parameters: Parameters, inference: str, *, posterior: VariationalPosterior | None = None
    ) -> Session:
        """Open a session over a corpus; use it as a context manager.

        Parameters
        ----------
        corpus : Corpus or RemoteCorpus
            The documents; an engine raises ValueError for a kind of corpus that it cannot infer.
        parameters : Parameters
            The parameters of the first E-step, which determine the documents' initial posteriors.
        inference : str
            The inference method.
        posterior : VariationalPosterior or None, default=None
            Posteriors to start from, updated in place; None initialises them at the priors.

        Returns
        -------
        Session
        """

    def sampler(self, corpus: Any, n_topics: int, candidates: OwnWordCandidates | None = None) -> Sampler:
        """Open a sampler over a corpus, for ``inference="gibbs"``; use it as a context manager.

        Parameters
        ----------
        corpus : Corpus or RemoteCorpus
            The documents.
        n_topics : int
            The number of topics.
        candidates : OwnWordCandidates or None, default=None
            The words that tags may have as their own.

        Returns
        -------
        Sampler

        Raises
        ------
        ValueError
            If the engine has no sampler, or counts have fractions.
        """
        raise ValueError(f'{type(self).__name__} has no sampler: use inference="cvb0", or fit on one machine')

    def own_word_candidates(self, corpus: Any) -> OwnWordCandidates:
        """Find the words that tags may have as their own, for ``inference="gibbs"``.

        Parameters
        ----------
        corpus : Corpus or RemoteCorpus
            The documents.

        Returns
        -------
        OwnWordCandidates

        Raises
        ------
        ValueError
            If the documents are on a cluster, and the engine is not that which read them.
        """
        if isinstance(corpus, RemoteCorpus):
            raise ValueError("the documents are on a cluster: fit them with the engine that read them")
        return own_word_candidates(corpus.counts, corpus.tags)

    @abstractmethod
    def infer(
        self,
        corpus: Any,
        parameters: Parameters,
        inference: str,
        *,
        sweeps: int = SWEEPS,
        tolerance: float = TOLERANCE,
    ) -> DocumentPosteriors:
        """Infer documents under fixed parameters.

        Parameters
        ----------
        corpus : Corpus
            The documents, in the columns of the parameters.
        parameters : Parameters
            The learnt parameters.
        inference : str
            The inference method.
        sweeps : int, default=200
            Maximum number of updates of each document's posterior.
        tolerance : float, default=1e-5
            A document has converged when an update moves its topic mix by less than this.

        Returns
        -------
        DocumentPosteriors
        """

    @classmethod
    def connect(cls, master: str | None, *, weight_update: str | None = None, n_jobs: int | None = None) -> Engine:
        """Make an engine from the options of the command line.

        Parameters
        ----------
        master : str or None
            The address of a cluster, for an engine that needs one.
        weight_update : str or None, default=None
            One of the engine's updates of pi; None is its default.
        n_jobs : int or None, default=None
            Threads on this machine.

        Returns
        -------
        Engine
        """
        raise NotImplementedError(f"{cls.__name__} is not for the command line")

    def can_read(self, source: Any, format: str | None = None) -> bool:
        """Return whether the engine itself reads these files, so that the documents need not be on this machine.

        Parameters
        ----------
        source : str, Path or list of them
            The files.
        format : str or None, default=None
            Their format, if not by their suffixes.

        Returns
        -------
        bool
            False unless the engine reads files.
        """
        return False

    def read(self, source: Any, **options: Any) -> RemoteCorpus:
        """Read a corpus whose documents stay where the engine runs; ``options`` are those of ``Corpus.read``.

        Parameters
        ----------
        source : str, Path or list of them
            The files.
        **options
            Columns and rules.

        Returns
        -------
        RemoteCorpus
            The corpus.
        """
        raise NotImplementedError(f"{type(self).__name__} reads no files: use Corpus.read")

    def apply(
        self, model: Any, source: Any, request: ReadOptions, target: str, answers: Sequence[str], **options: Any
    ) -> bool:
        """Write the answers of a model about the documents of files, which the engine reads.

        Parameters
        ----------
        model : TagTopicModel
            A fitted model.
        source : str or list of str
            Files that the engine reads.
        request : ReadOptions
            The columns of the files.
        target : str
            The folder to write Parquet files to.
        answers : sequence of str
            Any of "topics", "tag_weights", "latent_weight" and "predicted_tags".
        **options
            ``format`` of the files, ``n_ranked``, ``n_predicted``, ``kinds`` and ``method``.

        Returns
        -------
        bool
            False if tag weights were asked for, and no document has a tag that the model was trained on.
        """
        raise NotImplementedError(f"{type(self).__name__} reads no files")

    @classmethod
    def error_types(cls) -> tuple[type[Exception], ...]:
        """Return the types of the errors that ``describe_error`` is for."""
        return ()

    @classmethod
    def describe_error(cls, error: Exception) -> str:
        """Return an error of the engine's own in one sentence.

        Parameters
        ----------
        error : Exception
            An error of one of ``error_types``.

        Returns
        -------
        str
            Its cause.
        """
        return str(error)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``[function(item) for item in items]``, computed by this machine's threads.

        Parameters
        ----------
        function : callable
            A function of one item.
        items : iterable
            The items.

        Returns
        -------
        list
            The results, in the order of the items.
        """
        with ExitStack() as resources:
            return self._threads(resources).map(function, items)

    def __enter__(self) -> Self:
        with _LOCK:
            if not self._users:
                self._open()
            self._users += 1
        return self

    def __exit__(self, *_: object) -> None:
        with _LOCK:
            self._users -= 1
            if not self._users:
                self._close()

    def _open(self) -> None:
        """Start what sessions of a ``with`` block share."""
        self._pool = ThreadPool(self.n_jobs)

    def _close(self) -> None:
        """Stop it."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _threads(self, resources: ExitStack) -> ThreadPool:
        """The shared threads, or new ones that end with ``resources``."""
        return self._pool or resources.enter_context(ThreadPool(self.n_jobs))


class CorpusWorker:
    """A corpus that is being worked on, with threads on this machine and what has to be released in the end.

    Parameters
    ----------
    pool : ThreadPool
        Threads on this machine.
    resources : ExitStack
        What ``close`` releases: threads, temporary files, connections.
    """

    def __init__(self, pool: ThreadPool, resources: ExitStack) -> None:
        self.pool = pool
        self._resources = resources

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release threads, files and connections."""
        self._resources.close()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``[function(item) for item in items]``, computed by this machine's threads.

        Parameters
        ----------
        function : callable
            A function of one item.
        items : iterable
            The items.

        Returns
        -------
        list
            The results, in the order of the items.
        """
        return self.pool.map(function, items)


class Session(CorpusWorker, ABC):
    """A corpus under inference: the documents' posteriors, kept from one E-step to the next.

    Parameters
    ----------
    inference : str
        The inference method.
    pool : ThreadPool
        Threads on this machine.
    resources : ExitStack
        What ``close`` releases: threads, temporary files, connections.
    """

    def __init__(self, inference: str, pool: ThreadPool, resources: ExitStack) -> None:
        super().__init__(pool, resources)
        self.method = method_of(inference)

    @property
    @abstractmethod
    def posterior(self) -> VariationalPosterior:
        """The variational parameters of all documents after the last E-step."""

    @abstractmethod
    def e_step(
        self, parameters: Parameters, statistics: Statistics, *, sweeps: int, tolerance: float = 0.0
    ) -> Statistics:
        """Update the documents' posteriors, and compute the expected sufficient statistics under them.

        Parameters
        ----------
        parameters : Parameters
            The current parameters.
        statistics : Statistics
            Overwritten with the result, and returned.
        sweeps : int
            Updates of each document's posterior.
        tolerance : float, default=0.0
            Stop updating a document when its topic mix moves by less than this.

        Returns
        -------
        Statistics
        """

    @abstractmethod
    def update_weight_prior(self, parameters: Parameters, hyper: HyperPrior, learnt: NDArray[np.bool_]) -> Float64s:
        """Return pi, and last pi_latent if there is a latent tag, that maximises the objective (eq. 2).

        Parameters
        ----------
        parameters : Parameters
            The current parameters.
        hyper : HyperPrior
            The prior of pi.
        learnt : ndarray of bool
            The elements of ``parameters.all_pi`` that may change.

        Returns
        -------
        ndarray, of the length of ``parameters.all_pi``
        """

    @abstractmethod
    def weight_evidence(self, parameters: Parameters) -> Evidence:
        """Return the sums over the documents' posteriors that pi is estimated from, on this machine."""

    @abstractmethod
    def latent_log_expectations(self) -> tuple[Float64s, int]:
        """Return the sum over documents of E[log lambda], and the number of documents: mu is estimated from it."""

    def restore(self, posterior: VariationalPosterior) -> None:
        """Continue from saved posteriors of the same documents.

        Raises
        ------
        ValueError
            If an array has another shape.
        """
        for name, mine, saved in zip(VariationalPosterior._fields, self.posterior, posterior, strict=True):
            if mine.shape != saved.shape:  # NumPy would repeat one number, or one row, for all documents
                raise ValueError(f"{name} has the shape {saved.shape}: expected {mine.shape}")
            mine[:] = saved


class Sampler(CorpusWorker, ABC):
    """The assignments of a corpus's tokens to tags and topics, resampled in sweeps.

    Attributes
    ----------
    n_documents, n_tokens : int
        The size of the corpus.
    counts : TopicCounts
        The tokens by word, tag and topic, on this machine; those of words are read by ``word_topics``.
    """

    n_documents: int
    n_tokens: int
    counts: TopicCounts

    @property
    @abstractmethod
    def tokens(self) -> Assignments:
        """The assignments of all tokens."""

    def word_topics(self, words: Any) -> Int32s:
        """Return the counts of some words by topic.

        Parameters
        ----------
        words : slice or ndarray of int
            The words.

        Returns
        -------
        ndarray of shape (words, topics)
            Not to be changed: it may be part of the counts, or a copy.
        """
        return np.asarray(self.counts.word_topics[words])

    def add_word_topics(self, words: Int64s, topics: Int64s, counts: Int64s) -> None:
        """Add counts of pairs of a word and a topic, each given once, to the counts of words; not to those of topics.

        Parameters
        ----------
        words, topics, counts : ndarray of int
            The pairs and their counts.
        """
        self.counts.word_topics[words, topics] += counts.astype(np.int32)

    @abstractmethod
    def initialise(self, parameters: Parameters, seed: int, *, posterior: VariationalPosterior | None = None) -> None:
        """Draw the first assignments under fixed parameters.

        Parameters
        ----------
        parameters : Parameters
            The initial parameters.
        seed : int
            Seed of the random numbers.
        posterior : VariationalPosterior or None, default=None
            Posteriors of the documents' weights and latent topics; None is their priors.
        """

    @abstractmethod
    def restore(self, tokens: Assignments) -> None:
        """Continue from saved assignments of the same documents."""

    @abstractmethod
    def sweep(self, priors: SamplerPriors, seed: int, sweep: int) -> float:
        """Draw all assignments anew.

        Parameters
        ----------
        priors : SamplerPriors
            The priors.
        seed : int
            Seed of the random numbers.
        sweep : int
            The number of the sweep, counted from 1.

        Returns
        -------
        float
            The log probability of the tokens, each given the assignments of the others.
        """

    @abstractmethod
    def document_counts(self, rows: Int64s, parameters: Parameters) -> VariationalPosterior:
        """Return the counts of some documents, priors included, in the form of variational posteriors.

        Parameters
        ----------
        rows : ndarray of int
            The documents.
        parameters : Parameters
            Their pi, pi_latent and mu are the priors.

        Returns
        -------
        VariationalPosterior
            ``xi`` has the tag entries of these documents only, one after the other.
        """
