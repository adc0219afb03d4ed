"""A session over a corpus whose E-step runs on executors.

After each E-step the driver has the posteriors of all documents; executors have copies of their blocks' posteriors. A
lost copy is sent again, so the result does not depend on which executor computes what, or how often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Int32s, Int64s, offsets_of
from tagtopic._core.parallel import ThreadPool
from tagtopic.engines.base import Session
from tagtopic.engines.blocks import Block
from tagtopic.engines.distributed.components import ComponentUpdate
from tagtopic.engines.distributed.e_step import (
    AddRanges,
    CollectBlocks,
    CollectPartition,
    EStep,
    RowRanges,
    SplitStatistics,
    StorePartition,
)
from tagtopic.engines.distributed.reading import RemoteBlock
from tagtopic.engines.distributed.scratch import INITIAL, BlockData, Scratch
from tagtopic.engines.distributed.tasks import Cluster, Partition, Task
from tagtopic.engines.distributed.weight_updates import AverageUpdate, WeightUpdate, driver_update, gradient_update
from tagtopic.engines.local import latent_log_expectations
from tagtopic.engines.posterior import CorpusEvidence, Extent, block_posterior
from tagtopic.inference.priors.tag_weights import HyperPrior
from tagtopic.inference.types import Documents, Parameters, Statistics, VariationalPosterior


@dataclass(frozen=True)
class TransferSizes:
    """How many bytes are transferred at a time; smaller numbers take less memory and more jobs.

    Parameters
    ----------
    collect : int, default=201326592
        Statistics and posteriors of up to this size in all come to the driver with the E-step's own job.
    wave : int, default=134217728
        Blocks are sent, and larger results are fetched, in groups of this size.
    row_range : int, default=4194304
        Larger statistics are added on executors, in ranges of rows of this size.
    """

    collect: int = 3 << 26
    wave: int = 1 << 27
    row_range: int = 1 << 22


class BlockSource(Protocol):
    """The blocks of a corpus: where their documents are in it, and what executors are sent of them."""

    @property
    def extents(self) -> dict[int, Extent]:
        """The position of each block's documents, by the block's number, in corpus order."""
        ...

    @property
    def sizes(self) -> dict[int, tuple[int, int]]:
        """The numbers of different words and tags of each block; empty until executors have the blocks."""
        ...

    def block_data(self, number: int, with_documents: bool) -> BlockData:
        """Return what an executor is sent of a block, but for its posterior."""
        ...

    def tag_entries(self, run: Callable[[Task], list[Any]]) -> tuple[Int64s, Int32s]:
        """Return the tags of all documents, ``tags[starts[d]:starts[d + 1]]``; ``run`` runs a task on executors."""
        ...

    def tag_frequencies(self, n_tags: int) -> Float64s:
        """Return the number of documents with each tag."""
        ...


class DriverBlocks:
    """Blocks of a corpus that the driver has: executors are sent copies."""

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.extents: dict[int, Extent] = dict(enumerate(blocks))
        self.sizes: dict[int, tuple[int, int]] = {}

    def block_data(self, number: int, with_documents: bool) -> BlockData:
        """Return a block on its own."""
        block = self.blocks[number]
        if not with_documents:
            return BlockData(None, block.n_words, block.n_tags, None)
        whole = block.documents
        words, tags = slice(*block.word_range), slice(*block.tag_range)
        documents = Documents(
            whole.word_starts - words.start, whole.words[words], whole.counts[words],
            whole.tag_starts - tags.start, whole.tags[tags],
        )  # fmt: skip
        return BlockData(documents, block.n_words, block.n_tags, None)

    def tag_entries(self, run: Callable[[Task], list[Any]]) -> tuple[Int64s, Int32s]:
        """Return the tags of all documents, which the driver has."""
        starts = np.concatenate([[0], *(block.documents.tag_starts[1:] for block in self.blocks)])
        return starts, self.blocks[0].documents.tags

    def tag_frequencies(self, n_tags: int) -> Float64s:
        """Return the number of documents with each tag."""
        return np.bincount(self.blocks[0].documents.tags, minlength=n_tags).astype(np.float64)


@dataclass(frozen=True)
class CollectTags:
    """Yields the tags of each block's documents."""

    def __call__(self, partition: Partition, scratch: Scratch) -> Iterator[Int32s]:
        """Yield one array for each block."""
        scratch.require(partition.blocks)
        for number in partition.blocks:
            stored = scratch.block(number)
            yield stored.tags[stored.block.documents.tags]


class RemoteCorpusBlocks(Protocol):
    """The parts of a corpus that ``ExecutorBlocks`` needs."""

    @property
    def blocks(self) -> list[RemoteBlock]:
        """The blocks, in the order of their documents."""
        ...

    def block_data(self, number: int, with_documents: bool) -> BlockData:
        """Return a block, read again from its source."""
        ...

    def document_sizes(self) -> tuple[Int32s, Int32s]:
        """Return the numbers of different words and of tags of each document."""
        ...

    def tag_sizes(self) -> NDArray[np.int64]:
        """Return the number of documents with each tag."""
        ...


class ExecutorBlocks:
    """Blocks that executors have read from a source: a lost block is read again."""

    def __init__(self, corpus: RemoteCorpusBlocks) -> None:
        self.corpus = corpus
        self.extents: dict[int, Extent] = {block.number: block for block in corpus.blocks}
        self.sizes = {block.number: (block.n_words, block.n_tags) for block in corpus.blocks}

    def block_data(self, number: int, with_documents: bool) -> BlockData:
        """Return a block, read again from its source."""
        return self.corpus.block_data(number, with_documents)

    def tag_entries(self, run: Callable[[Task], list[Any]]) -> tuple[Int64s, Int32s]:
        """Return the tags of all documents, which executors send."""
        starts = offsets_of(self.corpus.document_sizes()[1])
        return starts, np.concatenate([np.zeros(0, np.int32), *run(CollectTags())])

    def tag_frequencies(self, n_tags: int) -> Float64s:
        """Return the number of documents with each tag."""
        return self.corpus.tag_sizes().astype(np.float64)


class PosteriorStore:
    """The driver's posteriors of all documents, and the number of the E-step that they result from.

    Parameters
    ----------
    posterior : VariationalPosterior
        Posteriors of all documents, updated in place.
    extents : dict
        The position of each block's documents.
    each_rho : bool
        Whether each document has topics of its own for the latent tag.
    initialised : bool
        False if executors compute the initial posteriors of their blocks themselves.

    Attributes
    ----------
    step : int
        The number of the last E-step that was finished.
    """

    def __init__(
        self, posterior: VariationalPosterior, extents: dict[int, Extent], *, each_rho: bool, initialised: bool
    ) -> None:
        self.posterior = posterior
        self.each_rho = each_rho
        self.step = 1 if initialised else INITIAL
        self._extents = extents
        self._newest = 1

    def next_step(self) -> int:
        """Return a step number that was never used: tasks of a failed step may still be writing its files."""
        self._newest += 1
        return self._newest

    def commit(self, step: int, parts: dict[int, VariationalPosterior]) -> None:
        """Store the posteriors of all blocks after a step."""
        for number, part in parts.items():
            for mine, new in zip(block_posterior(self.posterior, self._extents[number]), part, strict=True):
                mine[:] = new
        self.step = step

    def mark_changed(self) -> None:
        """Give the posteriors a new step number: the executors' copies are out of date."""
        self.step = self.next_step()

    def of_block(self, number: int) -> VariationalPosterior | None:
        """Return a block's part; None if executors compute it themselves."""
        return None if self.step == INITIAL else block_posterior(self.posterior, self._extents[number])

    def block_bytes(self, number: int) -> int:
        """Return the size of a block's part."""
        return sum(array.nbytes for array in block_posterior(self.posterior, self._extents[number]))

    @property
    def nbytes(self) -> int:
        """The size of all posteriors."""
        return sum(array.nbytes for array in self.posterior)


class DistributedSession(Session):
    """A session whose E-step runs where the blocks are.

    Parameters
    ----------
    inference : str
        The inference method.
    pool : ThreadPool
        Threads on the driver.
    blocks : BlockSource
        The blocks of the corpus.
    store : PosteriorStore
        The driver's posteriors.
    cluster : Cluster
        The executors that hold the blocks.
    weight_update : WeightUpdate
        Computes pi.
    resources : ExitStack
        What ``close`` releases.
    transfer : TransferSizes
        How many bytes are transferred at a time.
    """

    def __init__(
        self,
        inference: str,
        pool: ThreadPool,
        blocks: BlockSource,
        store: PosteriorStore,
        cluster: Cluster,
        weight_update: WeightUpdate,
        resources: ExitStack,
        transfer: TransferSizes,
    ) -> None:
        super().__init__(inference, pool, resources)
        self.inference = inference
        self.blocks = blocks
        self.store = store
        self.cluster = cluster
        self.weight_update = weight_update
        self.transfer = transfer
        self._sizes = blocks.sizes
        self._tags: tuple[Int64s, Int32s] | None = None

    @property
    def posterior(self) -> VariationalPosterior:
        """The variational parameters of all documents after the last E-step."""
        return self.store.posterior

    def restore(self, posterior: VariationalPosterior) -> None:
        """Continue from saved posteriors, which executors are sent with the next E-step."""
        super().restore(posterior)
        self.store.mark_changed()

    def e_step(
        self, parameters: Parameters, statistics: Statistics, *, sweeps: int, tolerance: float = 0.0
    ) -> Statistics:
        """Update posteriors and compute statistics on executors; see ``Session.e_step``."""
        if not self._sizes:
            numbers = list(self.blocks.extents)
            self._sizes = self.cluster.send(numbers, self.store.step, documents=numbers)
        after = self.store.next_step()
        with self.cluster.share(parameters) as shared:
            step = EStep(
                shared, self.inference, self.store.step, after, sweeps, tolerance,
                each_rho=self.store.each_rho, threads=self.cluster.task_threads,
            )  # fmt: skip
            parts = self._collect(step, statistics)
        self.store.commit(after, parts)
        return statistics

    def update_weight_prior(self, parameters: Parameters, hyper: HyperPrior, learnt: NDArray[np.bool_]) -> Float64s:
        """Compute pi by the chosen update; see ``Session.update_weight_prior``."""
        return self.weight_update(self, parameters, hyper, learnt)

    def weight_evidence(self, parameters: Parameters) -> CorpusEvidence:
        """Return what pi is estimated from, on the driver; the documents' tags are fetched once."""
        if self._tags is None:
            self._tags = self.blocks.tag_entries(lambda task: self.cluster.run(task, self.store.step))
        return CorpusEvidence(*self._tags, self.posterior, parameters, self.pool)

    def latent_log_expectations(self) -> tuple[Float64s, int]:
        """Return the sum over documents of E[log lambda], and the number of documents."""
        ranges = [(block.first, block.last) for block in self.blocks.extents.values()]
        return latent_log_expectations(self.posterior.rho, ranges, self.pool)

    def _collect(self, step: EStep, statistics: Statistics) -> dict[int, VariationalPosterior]:
        """Collect by block, by partition or by ranges of rows, whichever is the first that is small enough."""
        row = statistics.psi.shape[1] * statistics.psi.itemsize
        left = self.transfer.collect - self.store.nbytes
        most = len(statistics.psi) + len(statistics.theta)
        parts = [sum(sum(self._sizes[number]) for number in partition.blocks) for partition in self.cluster.partitions]
        if sum(parts) * row <= left:
            return self._collect_blocks(step, statistics)
        if sum(min(rows, most) for rows in parts) * row <= left:
            return self._collect_partitions(step, statistics)
        return self._collect_ranges(step, statistics)

    def _collect_blocks(self, step: EStep, statistics: Statistics) -> dict[int, VariationalPosterior]:
        """Add each block's statistics on the driver, in block order: the same bits as on one machine."""
        found = self.cluster.run(CollectBlocks(step), step.before)
        statistics.clear()
        for _, part, _ in found:
            statistics.psi[part.words] += part.psi
            statistics.theta[part.tags] += part.theta
            statistics.objective += float(part.objective)
        return {number: posterior for number, _, posterior in found}

    def _collect_partitions(self, step: EStep, statistics: Statistics) -> dict[int, VariationalPosterior]:
        """Add each partition's statistics on the driver, in partition order."""
        found = self.cluster.run(CollectPartition(step), step.before)
        statistics.clear()
        for _, part, _ in found:
            statistics.psi[part.words] += part.psi
            statistics.theta[part.tags] += part.theta
            statistics.objective += sum(part.objectives.tolist())
        return {number: part for numbers, _, parts in found for number, part in zip(numbers, parts, strict=True)}

    def _collect_ranges(self, step: EStep, statistics: Statistics) -> dict[int, VariationalPosterior]:
        """Add statistics on executors, by ranges of rows; fetch posteriors a few partitions at a time."""
        few = self.store.nbytes <= self.transfer.collect
        store = StorePartition(step, with_posteriors=few)
        found = self.cluster.run(store, step.before)
        statistics.objective = float(sum(objective for _, objective, _ in found))
        self._fetch_ranges(store, statistics)
        if not few:
            fetch, groups = replace(store, with_posteriors=True), self._groups()
            found = [part for partitions in groups for part in self.cluster.run(fetch, step.before, partitions)]
        return {number: posterior for number, _, posterior in found}

    def _fetch_ranges(self, store: StorePartition, statistics: Statistics) -> None:
        ranges = RowRanges.of(statistics, self.transfer.row_range)
        n_waves = ranges.n_ranges * self.transfer.row_range // self.transfer.wave
        found = self.cluster.shuffle(
            SplitStatistics(store, ranges), AddRanges(ranges), store.step.before,
            n_out=min(ranges.n_ranges, max(len(self.cluster.partitions), n_waves)), n_jobs=max(1, n_waves),
            repair=store,
        )  # fmt: skip
        for key, rows in found:  # a range may come twice, with the same rows
            view = ranges.view(statistics, key)
            view[:] = rows[: len(view)]

    def _groups(self) -> Iterator[list[int]]:
        """Partitions whose blocks' posteriors are together about as large as a wave."""
        sizes = np.cumsum([sum(map(self.store.block_bytes, partition.blocks)) for partition in self.cluster.partitions])
        groups = sizes // self.transfer.wave
        return (np.flatnonzero(groups == group).tolist() for group in np.unique(groups))


def block_data_source(blocks: BlockSource, store: PosteriorStore) -> Callable[[int, bool], BlockData]:
    """Return a function that returns what is sent of a block, with or without its documents."""

    def block_data(number: int, with_documents: bool) -> BlockData:
        return blocks.block_data(number, with_documents)._replace(posterior=store.of_block(number))

    return block_data


def weight_update_of(name: str, average: str) -> WeightUpdate:
    """Return an update of pi.

    Parameters
    ----------
    name : {"driver", "average", "plain-average", "components", "gradient"}
        The update; see ``SparkEngine``.
    average : {"weighted", "plain"}
        The mean of the partitions' pi, for "average".

    Returns
    -------
    WeightUpdate
    """
    updates: dict[str, WeightUpdate] = {
        "driver": driver_update,
        "average": AverageUpdate(plain=average == "plain"),
        "plain-average": AverageUpdate(plain=True),
        "components": ComponentUpdate(),
        "gradient": gradient_update,
    }
    return updates[name]
