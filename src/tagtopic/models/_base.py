"""The estimator that TWTM, TWDA and LDA share."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s, largest, offsets_of
from tagtopic._core.estimator import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    NotFittedError,
    TransformerMixin,
    check_is_fitted,
    estimator_html_repr,
)
from tagtopic._core.frames import Ranking, Rankings, frame_of
from tagtopic.corpus import Corpus
from tagtopic.corpus.tags import kind_of
from tagtopic.corpus.text.rules import TextRules
from tagtopic.engines import LocalEngine
from tagtopic.engines.base import Engine
from tagtopic.engines.posterior import DocumentPosteriors, predictive_mixes
from tagtopic.inference.methods import InferenceMethod, method_of
from tagtopic.inference.types import OwnWords, Parameters
from tagtopic.models import _inputs, _tag_predictor
from tagtopic.models._batch import Callback
from tagtopic.models._edits import (
    TopicEdits,
    apply_edits,
    edited_model,
    group_array,
    merge_topics,
    restore_fitted,
    topic_reference,
    topics_digest,
)
from tagtopic.models._fit import fit_model
from tagtopic.models._queries import TagMixes, similar_documents, suggest_names, top_by_share
from tagtopic.models._settings import LATENT_PRIOR_DOCUMENTS, Prior
from tagtopic.models._tag_predictor import DeferredPredictor
from tagtopic.tagging.predictor import TagPredictor, fit_if_tagged
from tagtopic.tagging.ranking import RankedTags

if TYPE_CHECKING:
    from tagtopic.analysis import Contrast, Effects, TopicDescription, Trends
    from tagtopic.curation import Ledger, TopicMatch, TopicReference
    from tagtopic.models._analysis import TopicHierarchy
    from tagtopic.models._intervals import TopicIntervals
    from tagtopic.models.stability import Stability
    from tagtopic.tagging.audit import TagReport
    from tagtopic.tagging.explanation import Explanation
    from tagtopic.tagging.reasons import Reasons

TOPICS_OF = ("documents", "tag")


class TagTopicModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The estimator behind ``TWTM``, ``TWDA`` and ``LDA``, which differ in their settings and in the latent tag.

    Its ``load`` opens a model file of any of the three.
    """

    _latent: ClassVar[bool]
    """Whether every document has a latent tag; without it, only documents without tags have one."""
    _uses_tags: ClassVar[bool] = True
    _edits: TopicEdits | None = None
    """Names, merges and other edits of the topics."""
    _fitted: dict[str, Any] | None = None
    """Of an edited model, the arrays as fitted, where they differ from the public ones."""
    _inferred_with: dict[str, Any] | None = None
    """Of an edited model, the arrays with which documents are inferred: all fitted topics, without banned words."""
    _digest_of: tuple[Any, str] | None = None
    _seeds: Mapping[str, tuple[str, ...]] = {}
    """During a fit, the words of seeded topics by name."""
    _named: Mapping[str, TopicReference] = {}
    """During a fit, the named topics of a ledger by name."""
    _chosen: InferenceMethod | None = None
    """During a fit, its inference method."""
    _predictor: DeferredPredictor | TagPredictor | None = None
    _resumes: bool = True
    """Whether ``fit`` resumes from its checkpoint; otherwise its own first checkpoint replaces the file."""

    n_topics: int
    inference: str
    max_iter: int | None
    tol: float
    sweeps: int
    sweep_tol: float = 0.0
    prior_warm_up: int = 20
    prior_every: int = 10
    tag_weight_prior: Prior
    latent_weight_prior: Prior
    latent_topic_prior: Prior
    tag_topic_prior: Prior
    topic_word_prior: Prior
    init: str
    initial: TagTopicModel | None
    burn_in: int | None
    thinning: int
    n_draws: int
    own_words: bool | None
    dtype: str
    learning: str
    batch_size: int
    validation_fraction: float | None
    patience: int
    unknown_tags: str
    tag_predictor: bool
    n_jobs: int | None
    random_state: Any
    callbacks: Sequence[Callback]
    progress: bool | None
    checkpoint: str | PathLike[str] | None
    checkpoint_every: int

    components_: Floats
    tag_topics_: Floats
    tag_document_topics_: Floats
    words_: tuple[str, ...]
    tag_names_: tuple[str, ...]
    rules_: TextRules | None
    word_counts_: Float64s
    tag_frequencies_: Float64s
    tag_sizes_: Float64s
    topic_shares_: Float64s
    n_documents_: int
    tag_weight_prior_: Float64s
    latent_weight_prior_: float
    latent_topic_prior_: Float64s
    tag_topic_prior_: Float64s
    topic_word_prior_: Float64s
    topic_word_draws_: Floats
    tag_topic_draws_: Floats
    own_word_tags_: Int32s
    own_word_words_: Int32s
    own_word_shares_: Floats
    own_word_draws_: Floats
    bound_: Float64s
    validation_perplexity_: Float64s
    prior_updates_: tuple[int, ...]
    inference_: str
    n_iter_: int
    converged_: bool
    interrupted_: bool
    topic_matches_: dict[str, TopicMatch]

    # ---- fitting

    def fit(
        self, X: Any, y: Any = None, *, tags: Any = None, engine: Engine | None = None, ledger: Ledger | None = None
    ) -> Self:
        """Fit the model to documents.

        Ctrl-C ends the fit with a warning; the model is that of the last complete iteration. If the file ``checkpoint``
        is of the same corpus and settings, the fit resumes from it.

        Parameters
        ----------
        X : Corpus, list of texts, matrix of word counts (documents, words), or documents read by a SparkEngine
            The documents.
        y : None
            Ignored, as by scikit-learn's transformers.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts; they replace those of a Corpus.
        engine : Engine or None, default=None
            Where inference runs; None is this machine, or the engine that read the documents.
        ledger : Ledger or None, default=None
            Decisions: the tags are corrected and banned words left out as by ``ledger.apply``; the fit starts from the
            words of named topics, and from seeded topics, which stay about their words; names and hidden topics are
            carried to the counterparts of their topics, if those are clear. ``topic_matches_`` has the match of each
            name, and ``edit(ledger)`` also merges topics.

        Returns
        -------
        Self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a setting is invalid, there are no words, or (TWTM) a document has no tags.
        CheckpointError
            If the checkpoint is of another run, or damaged.

        Warns
        -----
        UserWarning
            If the counterpart of a named topic is doubtful; its name is not carried.

        Examples
        --------
        >>> TWDA(2, random_state=0).fit([[2, 0, 1], [0, 3, 1]], tags=[["blue"], ["red", "blue"]])
        TWDA(n_topics=2, random_state=0)
        """
        _inputs.check_ignored(y, tags)
        try:
            fit_model(self, X, tags, engine, None if ledger is None else ledger.state)
        finally:
            self._chosen = None
        return self

    def partial_fit(self, X: Any, y: Any = None, *, tags: Any = None) -> Self:
        """Update the model with more documents, in one pass of mini-batches of ``batch_size``.

        The documents count as new, and move the parameters in proportion to their share of all documents so far. New
        tags are added, and so are the new words of a Corpus; texts and matrices are read in the model's words. The tag
        predictor keeps the training documents of the first call. On a model that is not fitted, this is an online fit
        of one pass.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        y : None
            Ignored.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.

        Returns
        -------
        Self
            The updated estimator.

        Raises
        ------
        ValueError
            If a setting is invalid or (TWTM) a document has no tags.

        Examples
        --------
        >>> later = TWDA(2, random_state=0).fit(corpus)
        >>> later.partial_fit(["a planet of the crime"], tags=[["space", "crime"]]).n_documents_
        21
        """
        from tagtopic.models._fit import update_model

        if not hasattr(self, "components_"):
            settings = {"learning": "online", "max_iter": 1, "checkpoint": None, "validation_fraction": 0.0}
            given = {name: getattr(self, name) for name in settings}
            try:
                self.set_params(**settings)
                return self.fit(X, y, tags=tags)
            finally:
                self.set_params(**given)
        _inputs.check_ignored(y, tags)
        corpus = _inputs.as_corpus(self, X, tags, reset=False)
        edits = None if self._edits is None else self._edits_with_sources()
        restore_fitted(self)
        try:
            update_model(self, corpus)
        finally:
            if edits is not None:
                apply_edits(self, edits)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, tags: Any = None) -> NDArray[np.floating[Any]]:
        """Fit the model and return the topic proportions of the same documents.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        y : None
            Ignored.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.

        Returns
        -------
        ndarray of shape (n_documents, n_topics)
            The result of ``transform``.

        Examples
        --------
        >>> TWDA(2, random_state=0).fit_transform(corpus).shape
        (20, 2)
        """
        X = list(X) if isinstance(X, Iterator) else X
        return self.fit(X, y, tags=tags).transform(X, tags=tags)

    def fit_tag_predictor(self, X: Any, *, tags: Any = None) -> Self:
        """Fit the tag predictor to other documents than those of ``fit``, or after ``tag_predictor=False``.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            Documents with tags.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.

        Returns
        -------
        Self
            The estimator, with a new ``tag_predictor_`` (None if no document has both words and tags).

        Examples
        --------
        >>> later = TWDA(2, tag_predictor=False, random_state=0).fit(corpus)
        >>> later.fit_tag_predictor(["a monster on mars", "mars and a ship"] * 5, tags=[["monster"], ["space"]] * 5)
        TWDA(n_topics=2, random_state=0, tag_predictor=False)
        >>> later.predict_tags(["a ship"], n=1)[0][0][0]
        'space'
        """
        check_is_fitted(self)
        self.tag_predictor_ = fit_if_tagged(self.aligned(X, tags), self.n_jobs)
        return self

    def fit_weight_prior(self, X: Any, *, tags: Any = None, noise: float = 0.0) -> Self:
        """Scale the priors of the tag weights so that held-out documents are predicted best.

        The priors that are best for learning topics are not the best for inferring new documents. Give documents that
        were held out of training, a few hundred or more. ``tag_weight_prior_`` and ``latent_weight_prior_`` change, and
        with them the inferred weights and topics of documents.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            Documents with tags that were not in training.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.
        noise : float, default=0.0
            Wrong tags to expect per right one: as many random tags are added to the documents first, and the priors
            learn to give them less weight.

        Returns
        -------
        Self
            The estimator.

        Raises
        ------
        ValueError
            If ``noise`` is negative, or no document has a known tag and two words.

        Examples
        --------
        >>> later = TWDA(2, random_state=0).fit(corpus)
        >>> later.fit_weight_prior(["a monster flies to a planet"] * 20, tags=[["crime", "monster"]] * 20)
        TWDA(n_topics=2, random_state=0)
        >>> later.tag_weight_prior_[0] < 1
        np.True_
        """
        from tagtopic.models._weight_prior import scale_weight_prior

        check_is_fitted(self)
        if not noise >= 0:
            raise ValueError(f"noise={noise!r}: expected a number from 0")
        engine = LocalEngine(self.n_jobs)
        found = scale_weight_prior(self.parameters_, self._new_document_method, self.aligned(X, tags), noise, engine)
        self.tag_weight_prior_, self.latent_weight_prior_ = found.pi, found.pi_latent
        return self

    # ---- the fit's history and result

    @property
    def history_(self) -> dict[str, Float64s]:
        """The values per iteration: ``"bound"`` and, if words were held out, their ``"perplexity"``.

        Examples
        --------
        >>> len(model.history_["bound"]) == model.n_iter_
        True
        """
        check_is_fitted(self)
        validation = {"perplexity": self.validation_perplexity_} if len(self.validation_perplexity_) else {}
        return {"bound": self.bound_, **validation}

    @property
    def best_iteration_(self) -> int:
        """The iteration, counted from 1, whose parameters were kept: the best on held-out words, or the last.

        A sampler's parameters are averages over draws: it is the last sweep.

        Examples
        --------
        >>> model.best_iteration_ == model.n_iter_  # no words were held out
        True
        """
        check_is_fitted(self)
        validation = self.validation_perplexity_
        if self._method.is_sampling:  # an average over draws
            return self.n_iter_
        return int(np.argmin(validation)) + 1 if len(validation) else self.n_iter_

    @property
    def stopped_early_(self) -> bool:
        """Whether the fit ended because the perplexity of held-out words no longer improved.

        Examples
        --------
        >>> model.stopped_early_
        False
        """
        return self.n_iter_ - self.best_iteration_ >= self.patience

    @property
    def tag_predictor_(self) -> TagPredictor | None:
        """The tag predictor, which is fitted when first used; None without tags, or with ``tag_predictor=False``.

        Examples
        --------
        >>> model.tag_predictor_.tag_names_ == model.tag_names_
        True
        """
        check_is_fitted(self)
        return self._predictor.get() if isinstance(self._predictor, DeferredPredictor) else self._predictor

    @tag_predictor_.setter
    def tag_predictor_(self, predictor: TagPredictor | None) -> None:
        self._predictor = predictor

    @property
    def parameters_(self) -> Parameters:
        """The learnt parameters under the paper's symbols, as inference takes them; of an edited model before merges.

        Examples
        --------
        >>> model.parameters_.psi.shape == (corpus.n_words, 2)
        True
        """
        check_is_fitted(self)
        return Parameters(
            psi=self._inference_array("components_").T,
            theta=self._inference_array("tag_topics_"),
            pi=self.tag_weight_prior_,
            pi_latent=self.latent_weight_prior_,
            mu=self._inference_array("latent_topic_prior_"),
            latent=self._latent,
            own_words=self._own_words,
            latent_topics_by_tag=self._latent_topics_by_tag,
        )

    @property
    def draws_(self) -> list[Parameters]:
        """The kept draws of the parameters, or the parameters themselves if there are none.

        Examples
        --------
        >>> sampled = TWDA(2, inference="gibbs", max_iter=40, n_draws=2, random_state=0).fit(corpus)
        >>> len(sampled.draws_), len(model.draws_)
        (2, 1)
        """
        parameters = self.parameters_
        own_words = parameters.own_words
        draws = (self._inference_array(name) for name in ("topic_word_draws_", "tag_topic_draws_"))
        found = [replace(parameters, psi=psi.T, theta=theta) for psi, theta in zip(*draws, strict=True)]
        if own_words is not None:
            omegas = zip(found, self.own_word_draws_, strict=True)
            found = [replace(draw, own_words=replace(own_words, omega=omega)) for draw, omega in omegas]
        return found or [parameters]

    @property
    def own_words_(self) -> Any:
        """The words of tags' own: a CSR array (n_tags, n_words) of p(own word | tag), empty if there are none.

        The sum of a row is the share of the tag's words that are its own rather than those of its topics.

        Examples
        --------
        >>> sampled = TWDA(2, inference="gibbs", max_iter=40, random_state=0).fit(corpus)
        >>> sampled.own_words_.shape == (len(sampled.tag_names_), len(sampled.words_))
        True
        """
        check_is_fitted(self)
        shape = len(self.tag_names_), len(self.words_)
        values = self.own_word_shares_, (self.own_word_tags_, self.own_word_words_)
        return sp.csr_array(sp.coo_array(values, shape=shape, dtype=self.components_.dtype))

    # ---- edits

    def edit(self, ledger: Ledger) -> Self:
        """Apply the decisions of a ledger about topics and words, without another fit.

        Merged topics are one: its share, and its proportion in each tag and document, is the sum of theirs, and its
        words are their average, weighted by their shares. Topics get names (``topic_names_``) or are hidden
        (``hidden_topics_``), which changes no number. Banned words are left out of topics and documents. Names of an
        earlier edit stay unless the ledger decides otherwise; merges and banned words are those of the ledger alone.

        Decisions about topics of another model are applied to their counterparts, found by their words, if those are
        clear. Tags are corrected by ``ledger.apply(corpus)`` and a fit.

        Parameters
        ----------
        ledger : Ledger
            The decisions.

        Returns
        -------
        Self
            The edited model; this one is not changed.

        Raises
        ------
        ValueError
            If all words are banned.

        Warns
        -----
        UserWarning
            If a decision is about a topic whose counterpart in this model is doubtful.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from tagtopic import Ledger
        >>> ledger = Ledger.open(mkdtemp() + "/films.decisions.jsonl")
        >>> space, _ = model.top_topics("space", 1)[0]
        >>> renamed = ledger.record("topic-rename", topic=model.topic_reference(space), name="Space")
        >>> edited = model.edit(ledger)
        >>> edited.topic_names_[space], edited.hidden_topics_, edited.topic_groups_.tolist()
        ('Space', (), [0, 1])
        >>> merged = ledger.record("topic-merge", topics=[model.topic_reference(k) for k in (0, 1)])
        >>> model.edit(ledger).transform(corpus).shape
        (20, 1)
        """
        check_is_fitted(self)
        return edited_model(self, ledger.state)

    def topic_reference(self, topic: int) -> TopicReference:
        """Return what a decision about a topic refers to: its number in the fitted model, and its words.

        Parameters
        ----------
        topic : int
            The topic, counted from 0.

        Returns
        -------
        TopicReference
            The reference, as ``Ledger.record`` takes it.

        Raises
        ------
        ValueError
            If there is no such topic.

        Examples
        --------
        >>> model.topic_reference(1).number
        1
        """
        return topic_reference(self, self._topic(topic))

    @property
    def topic_names_(self) -> tuple[str, ...]:
        """The name of each topic, "" if it has none.

        Examples
        --------
        >>> model.topic_names_
        ('', '')
        """
        check_is_fitted(self)
        return self._edits.names if self._edits else ("",) * len(self.components_)

    @property
    def hidden_topics_(self) -> tuple[int, ...]:
        """The topics that lists of topics leave out.

        Examples
        --------
        >>> model.hidden_topics_
        ()
        """
        check_is_fitted(self)
        return self._edits.hidden if self._edits else ()

    @property
    def topic_groups_(self) -> Int64s:
        """For each fitted topic, the number of the topic that it is part of: other than its own after merges.

        Examples
        --------
        >>> model.topic_groups_.tolist()
        [0, 1]
        """
        check_is_fitted(self)
        return group_array(self)

    # ---- documents in the model's words and tags

    def transform(self, X: Any, *, tags: Any = None) -> NDArray[np.floating[Any]]:
        """Infer the topic proportions of documents.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents; unknown words are left out.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.

        Returns
        -------
        ndarray of shape (n_documents, n_topics)
            Topic proportions; rows sum to 1.

        Raises
        ------
        ValueError
            If a tag is unknown and ``unknown_tags="error"``.

        Examples
        --------
        >>> proportions = model.transform(["the police and a killer"])[0]
        >>> int(proportions.argmax()) == model.top_topics("crime", 1)[0][0]
        True
        """
        return self._posteriors(X, tags).topics

    def aligned(self, X: Any, tags: Any = None) -> Corpus:
        """Convert documents to a Corpus in the model's words and tags, without unknown ones.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.

        Returns
        -------
        Corpus
            The documents, with columns in the order of ``words_`` and ``tag_names_``.

        Raises
        ------
        ValueError
            If a tag is unknown and ``unknown_tags="error"``.

        Examples
        --------
        >>> model.aligned(["a ship and a zeppelin"]).counts.sum()
        np.int64(1)
        """
        check_is_fitted(self)
        corpus = _inputs.as_corpus(self, X, tags, reset=False)
        if not self._uses_tags:
            corpus = _inputs.without_tags(corpus)
        known = _inputs.aligned(corpus, self.words_, self.tag_names_, self.unknown_tags)
        return _inputs.without_unseen_words(known, self.word_counts_)

    def one_document(self, document: Any, tags: Any = None) -> Corpus:
        """Convert one document, in any form that ``explain`` takes, to a Corpus in the model's words and tags.

        Parameters
        ----------
        document : Document, str, or anything that ``transform`` takes with one document in it
            The document, such as ``corpus[17]`` or a text.
        tags : list of str or None, default=None
            The tags of a text.

        Returns
        -------
        Corpus
            A corpus of one document.

        Raises
        ------
        ValueError
            If there is not exactly one document.

        Examples
        --------
        >>> model.one_document("the ship", tags=["space"])
        Corpus(1 documents, 7 words, 4 tags)
        """
        check_is_fitted(self)
        corpus = self.aligned(*_inputs.document_and_tags(document, tags))
        if len(corpus) != 1:
            raise ValueError(f"expected one document, not {len(corpus)}: give corpus[i], or a text")
        return corpus

    # ---- topics

    def topics_table(self, n_words: int = 10, n_tags: int = 5, backend: str | None = None) -> Any:
        """Return the topics as a data frame, largest first, without hidden ones.

        Parameters
        ----------
        n_words, n_tags : int, default=10, 5
            The numbers of words and tags per topic.
        backend : {"pandas", "polars", "arrow"} or None, default=None
            The library; None is pandas if it is installed, else Arrow.

        Returns
        -------
        data frame
            The columns topic (its number), name, share, words and tags, the last two as texts.

        Raises
        ------
        ValueError
            If there is no such library.

        Examples
        --------
        >>> model.topics_table(n_words=2, backend="arrow").column_names
        ['topic', 'name', 'share', 'words', 'tags']
        """
        import pyarrow as pa

        check_is_fitted(self)
        order = [int(k) for k in np.argsort(-self.topic_shares_, kind="stable") if k not in self.hidden_topics_]
        columns = {
            "topic": order,
            "name": [self.topic_names_[topic] for topic in order],
            "share": [float(self.topic_shares_[topic]) for topic in order],
            "words": [" ".join(word for word, _ in self.top_words(topic, n_words)) for topic in order],
            "tags": [", ".join(tag for tag, _ in self.top_tags(topic, n_tags)) for topic in order],
        }
        return frame_of(pa.table(columns), backend)

    def top_words(self, topic: int, n: int = 10) -> Ranking[str]:
        """Rank the most probable words of a topic.

        Parameters
        ----------
        topic : int
            The topic, counted from 0.
        n : int, default=10
            The number of words.

        Returns
        -------
        list of (str, float)
            Words with p(word | topic), most probable first; ``to_frame()`` makes it, as all rankings, a data frame.

        Raises
        ------
        ValueError
            If there is no such topic.

        Examples
        --------
        >>> topic, _ = model.top_topics("crime", 1)[0]
        >>> sorted(word for word, probability in model.top_words(topic, 2))
        ['killer', 'police']
        """
        topic = self._topic(topic)
        return Ranking(largest(self.components_[topic], self.words_, n), ("word", "probability"))

    def top_tags(self, topic: int, n: int = 10) -> Ranking[str]:
        """Rank the tags whose documents have more of a topic than others.

        The rank is by the evidence (a log-likelihood ratio): tags with few documents, and tags that most documents
        have, are not listed before those that many documents support.

        Parameters
        ----------
        topic : int
            The topic, counted from 0.
        n : int, default=10
            The number of tags.

        Returns
        -------
        list of (str, float)
            Tags with p(tag | topic): the tag's share of the topic in the documents of all tags.

        Raises
        ------
        ValueError
            If there is no such topic.

        Examples
        --------
        >>> topic, _ = model.top_topics("crime", 1)[0]
        >>> [tag for tag, probability in model.top_tags(topic, 2)]
        ['crime', 'Fincher']
        """
        return Ranking(self._tag_mixes.of_topic(self._topic(topic), n), ("tag", "probability"))

    def top_documents(self, X: Any, topic: int, n: int = 10, *, tags: Any = None) -> Ranking[str]:
        """Rank documents by their proportion of a topic.

        Documents of fewer than 20 known words are left out if at least n are longer: their proportions are uncertain.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        topic : int
            The topic, counted from 0.
        n : int, default=10
            The number of documents.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.

        Returns
        -------
        list of (str, float)
            Document ids with the topic's proportion, largest first.

        Raises
        ------
        ValueError
            If there is no such topic.

        Examples
        --------
        >>> topic, _ = model.top_topics("space", 1)[0]
        >>> [id for id, share in model.top_documents(["the police", "a ship in space", "a monster"], topic, 2)]
        ['1', '2']
        """
        topic = self._topic(topic)
        corpus = self.aligned(X, tags)
        shares = self._infer(corpus).topics[:, topic]
        ranked = top_by_share(shares, corpus.lengths(), n)
        titles = None if corpus.titles is None else [corpus.titles[d] for d, _ in ranked]
        return Ranking(((corpus.ids[d], share) for d, share in ranked), ("id", "share"), titles)

    def similar_documents(
        self,
        query: Any,
        X: Any,
        n: int = 10,
        *,
        tags: Any = None,
        query_tags: Any = None,
        distance: str = "hellinger",
        topics: Any = None,
    ) -> Ranking[str]:
        """Find the documents whose topic mixes are most similar to that of a query.

        Parameters
        ----------
        query : Document, str, int, or anything that ``transform`` takes with one document in it
            A text, a document such as ``corpus[17]``, or the number of a document of X, which is then left out.
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents to search.
        n : int, default=10
            The number of documents.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.
        query_tags : list of str or None, default=None
            The tags of a query that is a text.
        distance : {"hellinger", "jensen-shannon"}, default="hellinger"
            The distance of topic mixes; both are from 0 to 1.
        topics : ndarray of shape (n_documents, n_topics) or None, default=None
            The result of ``transform(X)``, if there is one already: several queries then infer X once.

        Returns
        -------
        list of (str, float)
            Document ids with their similarity, 1 - distance, most similar first.

        Raises
        ------
        ValueError
            If the query is not one document, or has no known words and no known tags.

        Examples
        --------
        >>> stories = ["the police", "a ship in space", "a killer and the police"]
        >>> [id for id, similarity in model.similar_documents("police hunt a killer", stories, 2)]
        ['2', '0']
        """
        check_is_fitted(self)
        corpus = self.aligned(X, tags)
        return similar_documents(self, query, query_tags, corpus, n, distance, topics)

    # ---- tags

    def top_topics(self, tag: str, n: int = 5, *, of: str = "documents") -> Ranking[int]:
        """Rank the topics of a tag's documents, or of the tag itself.

        Parameters
        ----------
        tag : str
            The tag's name.
        n : int, default=5
            The number of topics.
        of : {"documents", "tag"}, default="documents"
            ``"documents"``: what the training documents with the tag are about, their mean topic proportions
            (``tag_document_topics_``). ``"tag"``: p(topic | tag) (``tag_topics_``), what the tag adds to its documents
            given their other tags and their latent tags; it may be a single topic where the documents have many.

        Returns
        -------
        list of (int, float)
            Topics with their proportions, largest first.

        Raises
        ------
        ValueError
            If the tag is unknown; the message suggests similar names.

        Examples
        --------
        >>> topic, share = model.top_topics("space", 1)[0]
        >>> share > 0.7
        True
        >>> model.top_topics("space", 1, of="tag")[0][0] == topic
        True
        """
        number = self._tag(tag)
        if of not in TOPICS_OF:
            raise ValueError(f"of={of!r}: expected one of {', '.join(map(repr, TOPICS_OF))}")
        row = self._tag_mixes.means[number] if of == "documents" else self.tag_topics_[number]
        order = np.argsort(-row, kind="stable")[:n]
        return Ranking(((int(topic), float(row[topic])) for topic in order), ("topic", "share"))

    def tag_topic_intervals(self, level: float = 0.9) -> TopicIntervals:
        """Compute credible intervals of the topic proportions of all tags, from the kept draws.

        Parameters
        ----------
        level : float, default=0.9
            The probability of an interval.

        Returns
        -------
        TopicIntervals
            The arrays ``mean``, ``low`` and ``high`` (n_tags, n_topics).

        Raises
        ------
        ValueError
            If the model has no draws, or the level is not between 0 and 1.

        Examples
        --------
        >>> sampled = TWDA(2, inference="gibbs", max_iter=100, n_draws=5, random_state=0).fit(corpus)
        >>> found = sampled.tag_topic_intervals(0.8)
        >>> found.mean.shape, bool((found.low <= found.high).all())
        ((4, 2), True)
        """
        from tagtopic.models._intervals import topic_intervals

        check_is_fitted(self)
        return topic_intervals(self.tag_topic_draws_, level)

    def tag_words(self, tag: str, n: int = 10) -> Ranking[str]:
        """Rank the most probable words of a tag, under its mixture of topics and its own words.

        Parameters
        ----------
        tag : str
            The tag's name.
        n : int, default=10
            The number of words.

        Returns
        -------
        list of (str, float)
            Words with p(word | tag), most probable first.

        Raises
        ------
        ValueError
            If the tag is unknown; the message suggests similar names.

        Examples
        --------
        >>> model.tag_words("space", 1)[0][0]
        'ship'
        """
        number = self._tag(tag)
        return Ranking(largest(self.parameters_.word_probabilities(number), self.words_, n), ("word", "probability"))

    def top_own_words(self, tag: str, n: int = 10) -> Ranking[str]:
        """Rank the words of a tag's own: those that are probable given the tag beyond its topics.

        Parameters
        ----------
        tag : str
            The tag's name.
        n : int, default=10
            The number of words.

        Returns
        -------
        list of (str, float)
            Words with p(own word | tag), most probable first; empty if the tag has none.

        Raises
        ------
        ValueError
            If the tag is unknown; the message suggests similar names.

        Examples
        --------
        >>> sampled = TWDA(2, inference="gibbs", max_iter=40, random_state=0).fit(corpus)
        >>> set(dict(sampled.top_own_words("space"))) <= set(sampled.words_)
        True
        """
        number, own_words = self._tag(tag), self._own_words
        if own_words is None:
            return Ranking([], ("word", "probability"))
        words, omega = own_words.of_tag(number)
        return Ranking(largest(omega, [self.words_[word] for word in words], n), ("word", "probability"))

    def most_used_tags(self, n: int = 10, *, kind: str | None = None) -> list[str]:
        """Rank the tags by the number of training documents that have them.

        Parameters
        ----------
        n : int, default=10
            The number of tags.
        kind : str or None, default=None
            Only tags of this kind (the part of the name before the colon).

        Returns
        -------
        list of str
            Tags, most frequent first.

        Raises
        ------
        ValueError
            If the model has no tags, or none of the kind.

        Examples
        --------
        >>> model.most_used_tags(2)
        ['crime', 'space']
        """
        check_is_fitted(self)
        if not self.tag_names_:
            raise ValueError("the model has learnt no tags")
        order = np.argsort(-self.tag_frequencies_, kind="stable")
        names = (self.tag_names_[i] for i in order)
        chosen = [tag for tag in names if kind is None or kind_of(tag) == kind]
        if not chosen:
            kinds = sorted({tag.partition(":")[0] for tag in self.tag_names_ if ":" in tag})
            raise ValueError(f"the model has no tags of kind {kind!r}; it has {', '.join(kinds) or 'none with kinds'}")
        return chosen[:n]

    def similar_tags(self, tag: str, n: int = 10) -> Ranking[str]:
        """Rank other tags by the similarity of their documents' topics to those of a tag's documents.

        Topics that most documents have do not count, and a tag with few documents is never very similar.

        Parameters
        ----------
        tag : str
            The tag's name.
        n : int, default=10
            The number of tags.

        Returns
        -------
        list of (str, float)
            Tags with a similarity: near 1 if both have more than the average of the same topics, 0 if they are
            unrelated, negative if one has what the other lacks.

        Raises
        ------
        ValueError
            If the tag is unknown; the message suggests similar names.

        Examples
        --------
        >>> model.similar_tags("space", 1)[0][0]
        'monster'
        """
        number = self._tag(tag)
        return Ranking(self._tag_mixes.nearest(number, n), ("tag", "similarity"))

    # ---- the tags of documents

    def tag_weights(
        self, X: Any, *, tags: Any = None, return_latent: bool = False, intervals: float | None = None
    ) -> Any:
        """Infer the weight of each tag in each document.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.
        return_latent : bool, default=False
            Return the weights of the latent tag too.
        intervals : float or None, default=None
            A probability such as 0.9: sample each document's weights from their posterior, and return means and
            credible intervals. They are given the model's topics, or include their uncertainty if draws were kept
            (``n_draws``).

        Returns
        -------
        weights : CSR array of shape (n_documents, n_tags), or WeightIntervals
            The posterior mean weights. A row sums to 1 together with the latent tag's weight. With ``intervals``, the
            matrices ``mean``, ``low`` and ``high``.
        latent : ndarray of shape (n_documents,)
            The latent tag's weights, if ``return_latent``.

        Raises
        ------
        ValueError
            If ``intervals`` is not between 0 and 1.

        Examples
        --------
        >>> weights, latent = model.tag_weights(corpus, return_latent=True)
        >>> weights.shape
        (20, 4)
        >>> round(float(weights[[0]].sum() + latent[0]), 4)
        1.0
        >>> found = model.tag_weights(corpus[:2], intervals=0.9)
        >>> bool((found.low.data <= found.mean.data).all() and (found.mean.data <= found.high.data).all())
        True
        """
        if intervals is not None:
            from tagtopic.models._intervals import weight_intervals

            corpus = self.aligned(X, tags)
            sampled = weight_intervals(self.draws_, corpus, intervals, LocalEngine(self.n_jobs))
            return (sampled, self._infer(corpus).latent) if return_latent else sampled
        found = self._posteriors(X, tags)
        return (found.weights, found.latent) if return_latent else found.weights

    def rank_tags(
        self, X: Any, *, tags: Any = None, n: int | None = None, intervals: float | None = None
    ) -> RankedTags:
        """Rank each document's own tags by weight.

        A weight includes its prior; the shares of ``explain`` are of the words alone.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.
        n : int or None, default=None
            At most this many tags per document; None is all.
        intervals : float or None, default=None
            A probability such as 0.9: credible intervals of the weights are sampled, as by ``tag_weights``, and tags
            whose intervals overlap share a place.

        Returns
        -------
        RankedTags
            A sequence with one list of (tag, weight) per document, largest weight first, made on access. Its
            ``with_intervals(i)`` has the intervals and places.

        Raises
        ------
        ValueError
            If ``intervals`` is not between 0 and 1.

        Examples
        --------
        >>> [tag for tag, weight in model.rank_tags(corpus)[1]]
        ['space', 'monster']
        >>> ranked = model.rank_tags(corpus[:2], intervals=0.9)
        >>> [(tag.tag, tag.place) for tag in ranked.with_intervals(1)]
        [('space', 1), ('monster', 1)]
        """
        corpus = self.aligned(X, tags)
        named: dict[str, Any] = {"ids": corpus.ids, "titles": corpus.titles}
        if intervals is None:
            return RankedTags.from_weights(self._infer(corpus).weights, self.tag_names_, n, **named)
        from tagtopic.models._intervals import weight_intervals

        found = weight_intervals(self.draws_, corpus, intervals, LocalEngine(self.n_jobs))
        weights = self._infer(corpus).weights
        return RankedTags.from_weights(weights, self.tag_names_, n, low=found.low, high=found.high, **named)

    def predict_tags(
        self,
        X: Any,
        n: int = 10,
        *,
        method: str = "neighbours",
        kinds: Iterable[str] | None = None,
        given: Any = None,
        exclude: Iterable[str] | None = None,
    ) -> Rankings:
        """Predict the tags of documents from their words, and with ``given`` from the tags they have.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        n : int, default=10
            The number of tags per document.
        method : {"neighbours", "likelihood"}, default="neighbours"
            ``"neighbours"`` uses ``tag_predictor_``: similar training documents and each tag's documents together, with
            calibrated probabilities (of tags given 0.8, about 80% are right). ``"likelihood"`` is the paper's score,
            p(document | tag) under the topics, normalised over the tags.
        kinds : iterable of str or None, default=None
            Only tags of these kinds (the part of the name before the colon).
        given : None, "own", or list of lists of str, default=None
            Tags that the documents have: they are used as evidence and not predicted again. ``"own"`` are the tags of
            the corpus; None predicts from the words alone, and tags that the documents have are neither used nor left
            out.
        exclude : iterable of str or None, default=None
            Tags that are not predicted, and kinds followed by a colon, such as ``"year:"``.

        Returns
        -------
        list of lists of (str, float)
            For each document the n most probable tags with their probabilities; ``to_frame()`` makes it a data frame.
            With given tags, a probability is that of a tag that is missing, fitted on documents of which one tag was
            hidden.

        Raises
        ------
        ValueError
            If the model has no tags or no tag predictor, or there are no tags of a kind.

        Examples
        --------
        >>> for tag, probability in model.predict_tags(["a monster"], n=2)[0]:
        ...     print(tag, probability > 0.5)
        monster True
        space True
        """
        check_is_fitted(self)
        return _tag_predictor.predict_tags(self, X, n, method=method, kinds=kinds, given=given, exclude=exclude)

    def documents_missing(self, tag: str, X: Any, n: int = 10, *, tags: Any = None) -> Ranking[str]:
        """Find the documents that most probably lack a tag.

        Parameters
        ----------
        tag : str
            The tag.
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents; those with the tag are left out.
        n : int, default=10
            The number of documents.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.

        Returns
        -------
        list of (str, float)
            The ids of the documents with the probability of the tag, from their words and the tags they have; the most
            probable first.

        Raises
        ------
        ValueError
            If the model does not have the tag, or has no tag predictor.

        Examples
        --------
        >>> [id for id, _ in model.documents_missing("space", ["a ship in space", "police"], n=1)]
        ['0']
        """
        check_is_fitted(self)
        return _tag_predictor.documents_missing(self, self._tag(tag), X, n, tags)

    def reasons(
        self, document: Any, predicted: Iterable[str] | None = None, *, tags: Any = None, given: Any = None, n: int = 5
    ) -> Reasons:
        """Report the evidence for tags of a document: why they are, or are not, predicted or plausible.

        Parameters
        ----------
        document : Document, str, or anything that ``transform`` takes with one document in it
            The document, such as ``corpus[17]`` or a text.
        predicted : iterable of str or None, default=None
            The tags to explain; None explains the n that ``predict_tags`` finds.
        tags : list of str or None, default=None
            The tags of a text.
        given : None or "own", default=None
            With ``"own"`` the document's own tags are evidence, as in ``predict_tags``.
        n : int, default=5
            The number of words, similar documents and other tags per tag.

        Returns
        -------
        Reasons
            A list with, for each tag, the contributions of words, similar training documents, other tags and its name,
            in log odds; ``to_frame()`` makes it a data frame with a row per piece of evidence. Training
            documents are treated as if they had not been in training.

        Raises
        ------
        ValueError
            If the model does not have a tag, or has no tag predictor.

        Examples
        --------
        >>> (reason,) = model.reasons("police hunt a killer", ["crime"])
        >>> sorted(word for word, _ in reason.words)
        ['hunt', 'killer', 'police']
        """
        check_is_fitted(self)
        return _tag_predictor.tag_reasons(self, document, predicted, tags, given, n)

    def audit_tags(
        self,
        X: Any,
        *,
        tags: Any = None,
        order: str = "both",
        kinds: Iterable[str] | None = None,
        min_documents: int = 0,
        below: float = 1.0,
    ) -> TagReport:
        """Find tags that do not fit their documents, and tags that may be duplicates.

        The evidence for a tag, from similar training documents, topics and the document's other tags, is compared with
        that for tags drawn at random and for siblings of the document's tags, with which they may have been confused.
        Training documents are treated as if they had not been in training.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.
        order : {"both", "random", "sibling"}, default="both"
            The first entries are those that are most probably wrong, that look most like random tags, or most like
            wrong siblings.
        kinds : iterable of str or None, default=None
            Report tags of these kinds only (the part of the name before the colon).
        min_documents : int, default=0
            Report tags only that are on at least this many other training documents.
        below : float, default=1.0
            Report entries only with at most this plausibility.

        Returns
        -------
        TagReport
            The entries (a tag of a document), most suspicious first, and the tags, least plausible first, with the
            evidence; and pairs of tags that may be one.

        Raises
        ------
        ValueError
            If the model has no tags or no tag predictor, or the documents have no known tags.

        Examples
        --------
        >>> report = model.audit_tags(corpus)
        >>> len(report.entries)
        30
        >>> 1 >= report.entries[0].suspicion >= report.entries[-1].suspicion >= 0
        True
        """
        check_is_fitted(self)
        report = _tag_predictor.audit_tags(self, X, tags)
        return report.select(order=order, kinds=kinds, min_documents=min_documents, below=below)

    def explain(self, document: Any, *, tags: Any = None) -> Explanation:
        """Assign each word of a document to a topic and a tag.

        Parameters
        ----------
        document : Document, str, or anything that ``transform`` takes with one document in it
            The document, such as ``corpus[17]`` or a text.
        tags : list of str or None, default=None
            The tags of a text.

        Returns
        -------
        Explanation
            The words with their topics and tags. Its ``tag_shares`` are of the words alone; the weights of
            ``rank_tags`` and ``tag_weights`` include the prior, which evens them out, most in short texts.

        Raises
        ------
        ValueError
            If there is not exactly one document.

        Examples
        --------
        >>> explanation = model.explain("the ship", tags=["space"])
        >>> [word.word for word in explanation.words]
        ['ship']
        >>> list(explanation.tag_shares)
        ['space']
        """
        from tagtopic.tagging.explanation import explain_document

        corpus = self.one_document(document, tags)
        return explain_document(self.parameters_, self._new_document_method, corpus, self.topic_groups_)

    # ---- evaluation

    def perplexity(self, X: Any, *, tags: Any = None, method: str = "completion", random_state: int = 0) -> float:
        """Compute the perplexity of documents: the effective number of equally likely words; lower is better.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents; unknown words are not scored.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.
        method : {"completion", "tags", "fitted", "bound"}, default="completion"
            ``"completion"`` infers each document's topics from half of its words and scores the other half;
            ``"tags"`` infers them from its tags alone and scores all words, which shows what the tags are worth;
            ``"fitted"`` infers and scores on the same words, which favours many topics; ``"bound"`` is
            exp(-bound / words), for the inference methods that bound the likelihood ("paper" and "mixture").
        random_state : int, default=0
            Seed of the token split.

        Returns
        -------
        float
            The perplexity; ``tagtopic.evaluation.perplexity.perplexity`` also counts what was scored.

        Raises
        ------
        ValueError
            If no document has words to score, or ``"bound"`` is asked of a method that does not bound the likelihood.

        Examples
        --------
        >>> model.perplexity(corpus) < corpus.n_words
        True
        """
        from tagtopic.evaluation import perplexity

        check_is_fitted(self)
        return perplexity(self, X, tags=tags, method=method, random_state=random_state).value

    def score(self, X: Any, y: Any = None, *, tags: Any = None) -> float:
        """Compute the mean log probability of a word by document completion; higher is better.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        y : None
            Ignored.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.

        Returns
        -------
        float
            Minus the logarithm of ``perplexity(X)``.

        Examples
        --------
        >>> import numpy as np
        >>> bool(np.isclose(model.score(corpus), -np.log(model.perplexity(corpus))))
        True
        """
        return -float(np.log(self.perplexity(X, tags=tags)))

    def stability(self, corpus: Corpus, seeds: int | Iterable[int] = 5) -> Stability:
        """Fit the model again with other seeds, and report which of its topics come back.

        A topic that comes back in most fits is a property of the documents, and not of one random start.

        Parameters
        ----------
        corpus : Corpus
            The training documents.
        seeds : int or iterable of int, default=5
            The number of fits, or their seeds.

        Returns
        -------
        Stability
            The topics, the most stable first, with the number of fits that they came back in.

        Raises
        ------
        ValueError
            If there are no seeds.

        Examples
        --------
        >>> found = model.stability(corpus, seeds=2)
        >>> [topic.came_back for topic in found.topics]
        [2, 2]
        """
        from tagtopic.models.stability import measure_stability

        check_is_fitted(self)
        return measure_stability(self, corpus, seeds)

    # ---- effects, trends and groups of topics

    def effects(
        self,
        X: Any,
        formula: str,
        *,
        tags: Any = None,
        data: Any = None,
        topics: Sequence[int] | None = None,
        weights: Any = None,
        clusters: Any = None,
        level: float = 0.95,
        max_levels: int = 1000,
        random_state: int = 0,
    ) -> Effects:
        """Estimate how the topic shares of documents depend on covariates.

        The mean of each topic's share is a logistic function of the covariates. Intervals include the uncertainty of
        documents' topics and, if the model was fitted with ``n_draws``, of the topics themselves.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents, with the tags that are covariates; the model need not know these.
        formula : str
            Covariates as formulaic reads them: "year + venue", "bs(year, df=4) * region". A name is a column of
            ``data``, a kind of tag, or a tag (between backquotes if it has other characters than letters). A kind
            whose tags are numbers, such as ``year:1999``, is a number; ``C(year)`` makes levels of it. As in R,
            ``year**2`` is an interaction: the square is ``I(year**2)``.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.
        data : data frame, mapping of columns, or None, default=None
            More covariates, a row per document.
        topics : sequence of int or None, default=None
            The topics to report; the numbers do not depend on them.
        weights : "words", a column's name, array of shape (n_documents,), or None, default=None
            The weights of documents; None is equal ones.
        clusters : str, array of shape (n_documents,), or None, default=None
            A kind or column, or a label per document: documents of one cluster are not independent.
        level : float, default=0.95
            The probability of an interval.
        max_levels : int, default=1000
            The most levels of a kind; rarer ones are joined as "(other)", or left out if documents have several tags
            of the kind.
        random_state : int, default=0
            Seed.

        Returns
        -------
        Effects
            Tables of effects, predictions and coefficients.

        Raises
        ------
        ValueError
            If the formula is invalid, or a covariate unknown or the same for all documents.
        MissingExtraError
            If formulaic is not installed.

        Examples
        --------
        >>> effects = model.effects(corpus, "crime")
        >>> space = model.top_topics("space", 1)[0][0]
        >>> effects.table.filter(topic=space)["estimate"][0] < 0
        True
        """
        from tagtopic.models._analysis import model_effects

        check_is_fitted(self)
        return model_effects(
            self, X, formula, tags=tags, data=data, topics=topics, weights=weights, clusters=clusters, level=level,
            max_levels=max_levels, random_state=random_state,
        )  # fmt: skip

    def trends(
        self,
        X: Any,
        time: Any,
        *,
        by: str | Sequence[str] | None = None,
        every: str | float | None = None,
        tags: Any = None,
        data: Any = None,
        topics: Sequence[int] | None = None,
        level: float = 0.9,
        max_groups: int | None = None,
        random_state: int = 0,
    ) -> Trends:
        """Estimate topic shares over time, with bands.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        time : str or sequence
            A kind of tag (such as ``year``), a column of ``data``, or a date per document: "2001", "2001-Q2",
            "2001-05", "2001-W05", "2001-05-17", "17 May 2001", a date, or a number.
        by : str, sequence of str, or None, default=None
            A kind, a column or a tag by which documents are divided, or a list of tags.
        every : str, float or None, default=None
            The bins: "year", "quarter", "month", "week" or "day", or the width of bins of years or other numbers; None
            chooses.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.
        data : data frame, mapping of columns, or None, default=None
            Columns for ``time`` and ``by``, a row per document.
        topics : sequence of int or None, default=None
            The topics to report.
        level : float, default=0.9
            The probability of a band at each bin.
        max_groups : int or None, default=None
            The most levels of ``by``, most frequent first; None is 6.
        random_state : int, default=0
            Seed.

        Returns
        -------
        Trends
            Tables of shares and of changes. ``notes`` names uneven and empty bins.

        Raises
        ------
        ValueError
            If a date cannot be read, or there is no such kind or column.

        Examples
        --------
        >>> trends = model.trends(corpus, [2000 + i % 4 for i in range(len(corpus))])
        >>> trends.timeline.labels
        ('2000', '2001', '2002', '2003')
        """
        from tagtopic.models._analysis import model_trends

        check_is_fitted(self)
        return model_trends(
            self, X, time, by=by, every=every, tags=tags, data=data, topics=topics, level=level, max_groups=max_groups,
            random_state=random_state,
        )  # fmt: skip

    def contrast(
        self,
        X: Any,
        first: Any,
        second: Any = None,
        *,
        tags: Any = None,
        names: tuple[str, str] | None = None,
        level: float = 0.95,
        random_state: int = 0,
    ) -> Contrast:
        """Compare two sets of documents: the topics and the words that differ.

        Documents that are in both sets are left out.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        first, second : str, mask, positions, or None
            The sets: the documents of a tag, a boolean per document, or their positions; the second may be None, for
            all documents that are not in the first.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.
        names : (str, str) or None, default=None
            Names of the sets.
        level : float, default=0.95
            The probability of an interval.
        random_state : int, default=0
            Seed.

        Returns
        -------
        Contrast
            Tables of topics and words.

        Raises
        ------
        ValueError
            If a tag is unknown, or a set has fewer than two documents.

        Examples
        --------
        >>> found = model.contrast(corpus, "crime", "space")
        >>> found.words["word"][0] in ("police", "killer")
        True
        """
        from tagtopic.models._analysis import model_contrast

        check_is_fitted(self)
        return model_contrast(self, X, first, second, tags=tags, names=names, level=level, random_state=random_state)

    def hierarchy(self, levels: Sequence[int] = (5, 20), X: Any = None, *, tags: Any = None) -> TopicHierarchy:
        """Group the topics into nested levels of given numbers of groups.

        Topics are similar if they have words in common, and if the same documents or tags use them.

        Parameters
        ----------
        levels : sequence of int, default=(5, 20)
            The numbers of groups.
        X : Corpus, list of texts, matrix of word counts (documents, words), or None, default=None
            Documents, which show which topics occur together; None: tags.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.

        Returns
        -------
        TopicHierarchy
            The groups; its ``model(level)`` is this model at a level.

        Raises
        ------
        ValueError
            If a number of groups is not from 1 to that of the topics.

        Examples
        --------
        >>> model.hierarchy([1]).model(1).transform(corpus).shape
        (20, 1)
        """
        from tagtopic.models._analysis import model_hierarchy

        check_is_fitted(self)
        return model_hierarchy(self, levels, X, tags)

    def label_topics(
        self,
        X: Any = None,
        *,
        tags: Any = None,
        n_words: int = 3,
        namer: Callable[[TopicDescription], str] | None = None,
    ) -> list[str]:
        """Label each topic by words that are frequent in it and rare elsewhere (FREX), or by a function.

        Parameters
        ----------
        X : Corpus, list of texts, matrix of word counts (documents, words), or None, default=None
            Documents; if their texts are known, phrases of a topic's documents are part of its label.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.
        n_words : int, default=3
            Words of a label.
        namer : callable or None, default=None
            Called with a ``TopicDescription`` for each topic, returns its label: a local language model, for example.

        Returns
        -------
        list of str
            A label per topic.

        Raises
        ------
        ValueError
            If ``namer`` gives no text.

        Examples
        --------
        >>> model.label_topics(namer=lambda topic: topic.words[0].upper())[model.top_topics("space", 1)[0][0]]
        'SHIP'
        """
        from tagtopic.models._analysis import label_topics

        check_is_fitted(self)
        return label_topics(self, X, tags=tags, n_words=n_words, namer=namer)

    # ---- plots

    def plot_topics(self) -> Any:
        """Draw a map of the topics: circles with areas by share, similar topics near each other.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure.

        Raises
        ------
        MissingExtraError
            If plotly is not installed.

        Examples
        --------
        >>> len(model.plot_topics().data) > 0
        True
        """
        from tagtopic.models.plotting import plot_topics

        check_is_fitted(self)
        return plot_topics(self)

    def plot_tag(self, tag: str, n: int = 15) -> Any:
        """Draw a tag's topics and its most distinctive words.

        Parameters
        ----------
        tag : str
            The tag's name.
        n : int, default=15
            The number of words.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure.

        Raises
        ------
        ValueError
            If the tag is unknown; the message suggests similar names.
        MissingExtraError
            If plotly is not installed.

        Examples
        --------
        >>> len(model.plot_tag("space").data) > 0
        True
        """
        from tagtopic.models.plotting import plot_tag

        return plot_tag(self, tag, n)

    def plot_document(self, document: Any, *, tags: Any = None) -> Any:
        """Draw a document's topics and the weights of its tags with 90% intervals.

        Parameters
        ----------
        document : Document, str, or anything that ``transform`` takes with one document in it
            The document, such as ``corpus[17]`` or a text.
        tags : list of str or None, default=None
            The tags of a text.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure.

        Raises
        ------
        ValueError
            If there is not exactly one document.
        MissingExtraError
            If plotly is not installed.

        Examples
        --------
        >>> len(model.plot_document("the ship", tags=["space"]).data) > 0
        True
        """
        from tagtopic.models.plotting import plot_document

        return plot_document(self, document, tags)

    def plot_effects(
        self,
        effects: Effects,
        variable: str | None = None,
        *,
        predictions: bool = False,
        at: Mapping[str, Any] | None = None,
        topics: Sequence[int] | None = None,
    ) -> Any:
        """Draw effects with their intervals.

        Parameters
        ----------
        effects : Effects
            The result of ``effects``.
        variable : str or None, default=None
            A covariate; None is all.
        predictions : bool, default=False
            Draw the expected shares by the covariate instead of contrasts.
        at : mapping of str to object, or None, default=None
            Values of other covariates: with interactions, effects depend on them.
        topics : sequence of int or None, default=None
            The topics whose expected shares are drawn; None is the six whose shares differ most.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure.

        Raises
        ------
        ValueError
            If there is no such covariate.
        MissingExtraError
            If plotly is not installed.

        Examples
        --------
        >>> len(model.plot_effects(model.effects(corpus, "crime")).data)
        1
        """
        from tagtopic.models.analysis_plots import plot_effects, plot_predictions

        if predictions:
            return plot_predictions(effects, variable or effects.variables[0], topics, at)
        return plot_effects(effects, variable, at)

    def plot_contrast(self, contrast: Contrast, about: str = "topics") -> Any:
        """Draw the topics or the words that differ between two sets of documents, with their intervals.

        Parameters
        ----------
        contrast : Contrast
            The result of ``contrast``.
        about : {"topics", "words"}, default="topics"
            What to draw.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure.

        Raises
        ------
        ValueError
            If ``about`` is neither.
        MissingExtraError
            If plotly is not installed.

        Examples
        --------
        >>> len(model.plot_contrast(model.contrast(corpus, "crime", "space"), "words").data)
        1
        """
        from tagtopic.models.analysis_plots import plot_contrast

        return plot_contrast(contrast, about)

    def plot_trends(self, trends: Trends, topics: Sequence[int] | None = None) -> Any:
        """Draw topic shares over time with bands.

        Parameters
        ----------
        trends : Trends
            The result of ``trends``.
        topics : sequence of int or None, default=None
            The topics to draw; None is the six whose shares change most.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure.

        Raises
        ------
        MissingExtraError
            If plotly is not installed.

        Examples
        --------
        >>> found = model.trends(corpus, [2000 + i % 4 for i in range(len(corpus))])
        >>> len(model.plot_trends(found).data)
        4
        """
        from tagtopic.models.analysis_plots import plot_trends

        return plot_trends(trends, topics)

    def to_pyldavis(self, X: Any, *, tags: Any = None, **options: Any) -> Any:
        """Prepare the model and documents for pyLDAvis.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        tags : list of lists of str, 0/1 matrix or data frame (documents, tags), or None, default=None
            The tags of texts or counts.
        **options
            Options of ``pyLDAvis.prepare``.

        Returns
        -------
        pyLDAvis.PreparedData
            What ``pyLDAvis.display`` takes.

        Raises
        ------
        ValueError
            If no document has known words.
        MissingExtraError
            If pyLDAvis is not installed.

        Examples
        --------
        >>> wide = TWDA(4, random_state=0).fit(corpus)
        >>> wide.to_pyldavis(corpus).topic_info.columns[0]  # doctest: +SKIP
        'Term'
        """
        from tagtopic.models.plotting import to_pyldavis

        return to_pyldavis(self, X, tags, options)

    def _repr_html_(self) -> str:
        from tagtopic.models.plotting import html_table

        try:
            check_is_fitted(self)
        except NotFittedError:
            return str(estimator_html_repr(self))
        return html_table(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # ---- files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, atomically.

        Parameters
        ----------
        path : str or path-like
            The file; missing folders are made.

        Raises
        ------
        TypeError
            If the class does not derive from TWTM, TWDA or LDA.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/films.tagtopic")
        ...     TWDA.load(f"{folder}/films.tagtopic").tag_names_
        ('Fincher', 'crime', 'monster', 'space')
        """
        from tagtopic.models._io import save_model

        check_is_fitted(self)
        save_model(self, Path(path))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model from a file that ``save`` wrote. No code in the file is executed.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Self
            The fitted model.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ModelFileError
            If the file is not a model of this class, is damaged, or needs a newer version.

        Examples
        --------
        >>> TWDA.load("nowhere.tagtopic")
        Traceback (most recent call last):
        FileNotFoundError: ...
        """
        from tagtopic.models._io import load_model

        return load_model(Path(path), cls)

    # ---- private

    def _topic(self, topic: int) -> int:
        check_is_fitted(self)
        if not 0 <= topic < len(self.components_):
            raise ValueError(f"there is no topic {topic}: the model has {len(self.components_)}, from 0")
        return topic

    def _tag(self, tag: str) -> int:
        check_is_fitted(self)
        if not isinstance(tag, str):
            raise TypeError(f"tag is of type {type(tag).__name__}: expected the name of a tag")
        try:
            return self.tag_names_.index(tag)
        except ValueError:
            near = suggest_names(tag, self.tag_names_)
            hint = f"; near it are {', '.join(map(repr, near))}" if near else ""
            raise ValueError(f"the model has never seen the tag {tag!r}{hint}") from None

    @property
    def _has_document_topics(self) -> bool:
        """Whether the model has the topics of tags' documents: not after a fit on a cluster, nor in old files."""
        check_is_fitted(self)
        return len(self.tag_document_topics_) == len(self.tag_names_) > 0

    @property
    def _tag_mixes(self) -> TagMixes:
        """The topics of each tag's documents, or else of the tags themselves."""
        means = self.tag_document_topics_ if self._has_document_topics else self.tag_topics_
        return TagMixes(self.tag_names_, means, self._documents_by_tag)

    @property
    def _documents_by_tag(self) -> Float64s:
        """The number of training documents with each tag."""
        used = self.tag_frequencies_[self.tag_frequencies_ > 0]
        n_documents = self.n_documents_ or 1.0 / used.min(initial=1.0)  # files of earlier versions lack the number
        return np.asarray(self.tag_frequencies_ * n_documents)

    @property
    def _latent_topics_by_tag(self) -> Floats | None:
        """What the latent tag's topics are expected to be in new documents with each tag, where the prior follows tags.

        They are those of the tag's training documents, drawn towards mu by a few documents more.
        """
        follows = self._latent and self._method.is_sampling and self.latent_topic_prior is None
        if not follows or not self._has_document_topics:
            return None
        mu, means = self._inference_array("latent_topic_prior_"), self._inference_array("tag_document_topics_")
        own = self._documents_by_tag / (self._documents_by_tag + LATENT_PRIOR_DOCUMENTS)
        return np.asarray(own[:, None] * means + np.outer(1.0 - own, mu / mu.sum()), means.dtype)

    @property
    def _own_words(self) -> OwnWords | None:
        if not len(self.own_word_tags_):
            return None
        starts = offsets_of(np.bincount(self.own_word_tags_, minlength=len(self.tag_names_)))
        return OwnWords(starts, self.own_word_words_, self.own_word_shares_)

    def _predictive(self, observed: Corpus, scored: Corpus) -> tuple[Floats, Floats]:
        """Topic mixes of documents given their observed words, and what own words add to the scored ones.

        The probability of a scored word is its product with the mix, plus what its tags' own words add.
        """
        engine = LocalEngine(self.n_jobs)
        return predictive_mixes(self._infer(observed), self.tag_topics_, self._own_words, scored, engine)

    @property
    def _method(self) -> InferenceMethod:
        """The inference method of the fit under way, or of the last one; before the first, the setting."""
        return self._chosen or method_of(getattr(self, "inference_", self.inference))

    @property
    def _new_document_method(self) -> str:
        """The inference method for documents under fixed parameters."""
        return self._method.for_new_documents.name

    def _infer(self, aligned: Corpus) -> DocumentPosteriors:
        found = self._infer_fitted_topics(aligned)
        return replace(found, topics=merge_topics(found.topics, self._edits.groups)) if self._edits else found

    def _infer_fitted_topics(self, aligned: Corpus) -> DocumentPosteriors:
        return LocalEngine(self.n_jobs).infer(aligned, self.parameters_, self._new_document_method)

    def _inference_array(self, name: str) -> Any:
        """A learnt array of all fitted topics, without banned words."""
        return (self._inferred_with or {}).get(name, getattr(self, name))

    def _fitted_array(self, name: str) -> Any:
        """A learnt array as fitted."""
        return (self._fitted or {}).get(name, getattr(self, name))

    @property
    def _digest(self) -> str:
        """The digest of the fitted topics, computed once."""
        topics = self._fitted_array("components_")
        if self._digest_of is None or self._digest_of[0] is not topics:
            self._digest_of = topics, topics_digest(topics, self.words_)
        return self._digest_of[1]

    def _edits_with_sources(self) -> TopicEdits:
        """The edits, with the keys of this fit's topics, so that ledgers can refer to them after the topics change."""
        edits = self._edits or TopicEdits.none(len(self.components_))
        own = [keys or ((self._digest, topic),) for topic, keys in enumerate(edits.sources)]
        return replace(edits, sources=tuple(own))

    def _posteriors(self, X: Any, tags: Any) -> DocumentPosteriors:
        return self._infer(self.aligned(X, tags))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_clone__(self) -> Self:
        """Clone the settings; the initial model stays as it is, and is not cloned to one that is not fitted."""
        bare = copy.copy(self)
        bare.initial = None
        made: Self = super(TagTopicModel, bare).__sklearn_clone__()
        made.initial = self.initial
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []
        return tags
