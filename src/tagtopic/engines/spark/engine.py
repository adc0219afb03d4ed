"""The engine that runs on a Spark cluster."""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tagtopic._core.memmap import TemporaryArrays
from tagtopic.corpus.reading.options import ClusterArguments, DocumentOptions, ReadOptions, accepts, split_options
from tagtopic.engines import WEIGHT_UPDATES
from tagtopic.engines.base import Engine
from tagtopic.engines.blocks import BLOCK_ENTRIES, blocks_of
from tagtopic.engines.distributed.e_step import CompileKernels
from tagtopic.engines.distributed.own_words import distributed_candidates
from tagtopic.engines.distributed.sampler import ROUNDS, AssignmentStore, DistributedSampler
from tagtopic.engines.distributed.sampler_tasks import CompileSampler
from tagtopic.engines.distributed.scratch import BlockData, ScratchNames
from tagtopic.engines.distributed.session import (
    BlockSource,
    DistributedSession,
    DriverBlocks,
    ExecutorBlocks,
    PosteriorStore,
    TransferSizes,
    block_data_source,
    weight_update_of,
)
from tagtopic.engines.distributed.weight_updates import AVERAGES
from tagtopic.engines.local import LocalEngine
from tagtopic.engines.posterior import SWEEPS, TOLERANCE, DocumentPosteriors, empty_posterior, initial_posterior
from tagtopic.engines.sampler import InterleavedRounds, require_whole_counts
from tagtopic.engines.spark.cluster import Placement, Prepare, SparkExecutors, SpreadPlacement
from tagtopic.engines.spark.context import (
    SparkJobError,
    context_of,
    describe_failure,
    job_errors,
    open_context,
    require_pyspark,
    session_of,
)
from tagtopic.engines.spark.corpus import SparkCorpus, read_corpus
from tagtopic.engines.spark.frames import apply_model, read_frame
from tagtopic.engines.spark.source import is_readable, open_source
from tagtopic.inference.own_words import OwnWordCandidates
from tagtopic.inference.types import Parameters, VariationalPosterior

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from tagtopic.corpus import Corpus


TAG_WEIGHTS = "tag_weights"

MASTERS = re.compile(r"yarn$|spark://.|k8s://.|local($|[\[-])")
"""Addresses of clusters."""


class SparkEngine(Engine):
    """Inference on a Spark cluster.

    The executors' Python needs tagtopic too, in the same version.

    Parameters
    ----------
    session : pyspark.sql.SparkSession or pyspark.SparkContext, default=None
        A session of the caller's, which is left unchanged. Give either this or ``master``.
    master : str or None, default=None
        The address of a cluster (``"spark://host:7077"``, ``"yarn"``, ``"local[4]"``). A context is opened for each fit
        and stopped after it, or for all fits in a ``with`` block of the engine.
    weight_update : {"driver", "average", "plain-average", "components", "gradient"}, default="driver"
        How the prior of the tag weights is estimated, if a model estimates it. ``"driver"``: on the driver, from every
        document's weights (the paper's Solution I). ``"average"``: in each partition, then averaged with weights (not
        exact). ``"plain-average"``: the same with the plain mean (the paper's Solution II). ``"components"``: in each
        connected component of documents and tags (Solution III). ``"gradient"``: on the driver, from one sum over
        documents for each pass of the fixed point (ours).
    average : {"weighted", "plain"}, default="weighted"
        For ``"average"``: the geometric mean weighted by the documents that have the tag, or the plain mean, which is
        ``weight_update="plain-average"`` as well.
    partitions : int or None, default=None
        The number of partitions of a ``Corpus`` on the driver; None is one for each core. Spark itself divides what
        ``read`` reads.
    block_entries : int, default=524288
        Entries of the count matrix in a block. With the same number as the local engine's (the default), a fit of a
        small model gives the same bits.
    transfer : TransferSizes or None, default=None
        How many bytes are transferred at a time.
    sampler_rounds : int, default=1
        Rounds in a sweep of ``inference="gibbs"``: counts are exchanged after each. More rounds are nearer to an exact
        sampler, and cost more jobs and more traffic. A ``LocalEngine`` with the same number gives the same bits.
    n_jobs : int or None, default=None
        Threads on the driver; None or -1 is one for each core.
    config : mapping of str to str or None, default=None
        Spark settings for a context that the engine opens.

    Examples
    --------
    >>> from tagtopic.engines import SparkEngine
    >>> engine = SparkEngine(master="local[2]", weight_update="gradient")
    >>> TWTM(5).fit(corpus, engine=engine)  # doctest: +SKIP
    """

    supports_sampling = True

    def __init__(
        self,
        session: Any = None,
        *,
        master: str | None = None,
        weight_update: str = "driver",
        average: str = "weighted",
        partitions: int | None = None,
        block_entries: int = BLOCK_ENTRIES,
        transfer: TransferSizes | None = None,
        sampler_rounds: int = ROUNDS,
        n_jobs: int | None = None,
        config: Mapping[str, str] | None = None,
    ) -> None:
        require_pyspark()
        if (session is None) == (master is None):
            raise ValueError("give either a session or a master, so that it is clear where to run")
        if master is not None and not MASTERS.match(master):
            raise ValueError(f"master={master!r}: expected spark://host:7077, yarn, k8s://https://host:443 or local[4]")
        if config and master is None:
            raise ValueError("config is for a context that the engine opens (master=…): a session has its own already")
        for name, value, allowed in (("weight_update", weight_update, WEIGHT_UPDATES), ("average", average, AVERAGES)):
            if value not in allowed:
                raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(repr, allowed))}")
        if partitions is not None and partitions < 1:
            raise ValueError(f"partitions={partitions}: expected a number from 1, or None for one a core")
        for name, number in (("block_entries", block_entries), ("sampler_rounds", sampler_rounds)):
            if number < 1:
                raise ValueError(f"{name}={number}: expected a number from 1")
        self._given = session
        self.master = master
        self.weight_update = weight_update
        self.average = average
        self.partitions = partitions
        self.block_entries = block_entries
        self.transfer = transfer or TransferSizes()
        self.sampler_rounds = sampler_rounds
        self.n_jobs = n_jobs
        self.config = dict(config or {})
        self._context: SparkContext | None = None

    def _open(self) -> None:
        if self.master is not None:
            self._context = open_context(self.master, self.config)
        super()._open()

    def _close(self) -> None:
        super()._close()
        if self._context is not None:
            self._context.stop()
            self._context = None

    @classmethod
    def connect(cls, master: str | None, *, weight_update: str | None = None, n_jobs: int | None = None) -> SparkEngine:
        """Make an engine from the options of the command line; see ``Engine.connect``."""
        return cls(master=master, weight_update=weight_update or "driver", n_jobs=n_jobs)

    @classmethod
    def error_types(cls) -> tuple[type[Exception], ...]:
        """Return the types of Spark's errors, if this process has used Spark."""
        if "pyspark" not in sys.modules:
            return ()
        from pyspark.errors import PySparkException

        return import_module("py4j.protocol").Py4JError, PySparkException, SparkJobError

    @classmethod
    def describe_error(cls, error: Exception) -> str:
        """Return the cause of an error of Spark's, with the machine of the task that failed."""
        return str(error) if isinstance(error, SparkJobError) else describe_failure(str(error)) or type(error).__name__

    def can_read(self, source: Any, format: str | None = None) -> bool:
        """Return whether executors read these files: Parquet, JSON Lines, plain text, and any address."""
        return is_readable(source, format)

    def apply(
        self, model: Any, source: Any, request: ReadOptions, target: str, answers: Sequence[str], **options: Any
    ) -> bool:
        """Write the answers of a model about the documents of files; see ``Engine.apply``.

        Of Parquet files all columns are kept beside the answers; of lines, the documents' ids, texts and tags.
        """
        read = read_frame(self.spark, source, request, options.pop("format", None))
        on_error = request.on_error
        answered = apply_model(model, read.frame, answers=answers, on_error=on_error, **read.columns, **options)
        with job_errors():
            answered.write.parquet(target)
        if TAG_WEIGHTS not in answers:
            return True
        written = self.spark.read.parquet(target)
        return not written.where(f"size({TAG_WEIGHTS}) > 0").isEmpty() or written.isEmpty()

    @accepts(ClusterArguments)
    def read(self, source: Any, **options: Any) -> SparkCorpus:  # type: ignore[override]
        """Read a corpus that executors store: ``model.fit(engine.read("hdfs://…/posts.parquet"), engine=engine)``.

        It has the words and tags that ``Corpus.read`` finds in the same source. The driver receives samples of the
        documents only: at most 10,000 for the initialisation, and the training index of ``predict_tags``. An engine
        with a ``master`` reads in its ``with`` block.

        Parameters
        ----------
        source : str, Path, list of them, or pyspark.sql.DataFrame
            Parquet, JSON Lines or plain text files (a path, glob, folder, address such as ``s3a://…``, or a list of
            them), which executors open under the same name; or a Spark DataFrame, which must give the same rows in
            the same order whenever it is computed.
        **options
            Columns, and rules, as a whole or by name, as in ``Corpus.read``.

        Returns
        -------
        SparkCorpus
        """
        session = self.spark
        given, rules, tag_rules = split_options(options, DocumentOptions)
        format = given.pop("format", None)
        request = ReadOptions(**given)
        opened = open_source(session, source, request, format)
        return read_corpus(self, session.sparkContext, opened, request, rules, tag_rules, self.block_entries)

    @property
    def spark(self) -> SparkSession:
        """The Spark session, to read DataFrames with; an engine with a ``master`` has one in its ``with`` block."""
        context = self._open_context()
        if context is None:
            raise ValueError("there is no session yet: use the engine in a with block, or give it a session")
        return session_of(self._given, context)

    def _open_context(self) -> SparkContext | None:
        return self._context or (context_of(self._given) if self.master is None else None)

    def session(
        self,
        corpus: Corpus | SparkCorpus,
        parameters: Parameters,
        inference: str,
        *,
        posterior: VariationalPosterior | None = None,
    ) -> DistributedSession:
        """Open a session over a corpus; see ``Engine.session``. Blocks are sent with the first E-step."""
        resources = ExitStack()
        try:
            if isinstance(corpus, SparkCorpus):
                return self._remote_session(corpus, parameters, inference, posterior, resources)
            return self._session(corpus, parameters, inference, posterior, resources)
        except BaseException:
            resources.close()
            raise

    def _session(
        self,
        corpus: Corpus,
        parameters: Parameters,
        inference: str,
        posterior: VariationalPosterior | None,
        resources: ExitStack,
    ) -> DistributedSession:
        """A session over a corpus of the driver's."""
        context = self._context_for(resources)
        local = list(blocks_of(corpus, self.block_entries))
        blocks = DriverBlocks(local)
        first = posterior or initial_posterior(corpus, parameters)
        store = PosteriorStore(first, blocks.extents, each_rho=True, initialised=True)
        placement = SpreadPlacement(len(local), self.partitions or context.defaultParallelism)
        prepare = CompileKernels(inference, first.xi.dtype.name, local[0].documents.counts.dtype.name)
        return self._distributed(context, placement, prepare, inference, blocks, store, "", resources)

    def _remote_session(
        self,
        corpus: SparkCorpus,
        parameters: Parameters,
        inference: str,
        posterior: VariationalPosterior | None,
        resources: ExitStack,
    ) -> DistributedSession:
        """A session over a corpus that executors have read: they compute the initial posteriors of their blocks."""
        context = self._context_of(corpus)
        tag_entries = corpus.document_sizes()[1]
        each_rho = bool(parameters.latent or (tag_entries == 0).any())
        spill = resources.enter_context(closing(TemporaryArrays()))
        empty = empty_posterior(int(tag_entries.sum()), len(corpus), parameters, each_rho=each_rho, empty=spill.empty)
        blocks = ExecutorBlocks(corpus)
        store = PosteriorStore(empty, blocks.extents, each_rho=each_rho, initialised=False)
        prepare = CompileKernels(inference, empty.xi.dtype.name, "int32")
        made = self._distributed(context, corpus.placement(), prepare, inference, blocks, store, corpus.home, resources)
        if posterior is not None:
            made.restore(posterior)
        return made

    def _distributed(
        self,
        context: SparkContext,
        placement: Placement,
        prepare: CompileKernels,
        inference: str,
        blocks: BlockSource,
        store: PosteriorStore,
        home: str,
        resources: ExitStack,
    ) -> DistributedSession:
        executors = self._executors(context, placement, prepare, block_data_source(blocks, store), home, resources)
        update = weight_update_of(self.weight_update, self.average)
        pool = self._threads(resources)
        return DistributedSession(inference, pool, blocks, store, executors, update, resources, self.transfer)

    def sampler(
        self, corpus: Corpus | SparkCorpus, n_topics: int, candidates: OwnWordCandidates | None = None
    ) -> DistributedSampler:
        """Open a sampler over a corpus; see ``Engine.sampler``. Documents of the driver's are sent to executors."""
        resources = ExitStack()
        try:
            return self._sampler(corpus, n_topics, candidates, resources)
        except BaseException:
            resources.close()
            raise

    def own_word_candidates(self, corpus: Corpus | SparkCorpus) -> OwnWordCandidates:
        """Find the words that tags may have as their own; see ``Engine.own_word_candidates``."""
        if not isinstance(corpus, SparkCorpus):
            return super().own_word_candidates(corpus)
        self._context_of(corpus)
        words_per_document = float(corpus.document_sizes()[0].mean())
        return distributed_candidates(corpus.cluster, corpus.tag_sizes(), corpus.word_counts(), words_per_document)

    def _sampler(
        self,
        corpus: Corpus | SparkCorpus,
        n_topics: int,
        candidates: OwnWordCandidates | None,
        resources: ExitStack,
    ) -> DistributedSampler:
        blocks: BlockSource
        placement: Placement
        if isinstance(corpus, SparkCorpus):
            context, home = self._context_of(corpus), corpus.home
            blocks, placement = ExecutorBlocks(corpus), corpus.placement()
        else:
            require_whole_counts(corpus)
            context, home = self._context_for(resources), ""
            local = list(blocks_of(corpus, self.block_entries))
            blocks = DriverBlocks(local)
            placement = SpreadPlacement(len(local), self.partitions or context.defaultParallelism)
        most_tags = int(corpus.document_sizes()[1].max(initial=0))
        store = AssignmentStore(blocks.extents, InterleavedRounds(len(corpus), self.sampler_rounds))
        prepare = CompileSampler(n_topics, most_tags)
        executors = self._executors(context, placement, prepare, store.block_data_source(blocks), home, resources)
        arrays = resources.enter_context(closing(TemporaryArrays()))
        sizes = corpus.n_words, corpus.n_tags, n_topics, most_tags
        return DistributedSampler(
            self._threads(resources), blocks, store, executors, sizes, candidates, resources, arrays
        )

    def _context_for(self, resources: ExitStack) -> SparkContext:
        """The open context, or a new one that ends with ``resources``."""
        context = self._open_context()
        if context is None:
            context = open_context(str(self.master), self.config)
            resources.callback(context.stop)
        return context

    def _context_of(self, corpus: SparkCorpus) -> SparkContext:
        """The context that a corpus was read in, which must be the open one."""
        context = self._open_context()
        if context is None or corpus.context is not context:
            raise ValueError("the corpus was read in another Spark context: fit it with the engine that read it")
        return context

    def _executors(
        self,
        context: SparkContext,
        placement: Placement,
        prepare: Prepare,
        block_data: Callable[[int, bool], BlockData],
        home: str,
        resources: ExitStack,
    ) -> SparkExecutors:
        run = uuid.uuid4().hex
        executors = SparkExecutors(
            context, placement, ScratchNames(run, home or run), block_data=block_data, prepare=prepare,
            wave_bytes=self.transfer.wave,
        )  # fmt: skip
        resources.callback(executors.close)
        return executors

    def infer(
        self,
        corpus: Corpus | SparkCorpus,
        parameters: Parameters,
        inference: str,
        *,
        sweeps: int = SWEEPS,
        tolerance: float = TOLERANCE,
    ) -> DocumentPosteriors:
        """Infer documents of the driver's, on the driver; see ``Engine.infer``.

        ``tagtopic.engines.spark.frames.apply_model`` infers the documents of a DataFrame on executors.
        """
        return LocalEngine(self.n_jobs).infer(corpus, parameters, inference, sweeps=sweeps, tolerance=tolerance)
