"""What TWTM, TWDA and LDA have in common: fit, transform, tag weights, scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from tagtopic.corpus import Corpus
from tagtopic.corpus.collection import Collection, RemoteCorpus
from tagtopic.engines.base import Engine
from tagtopic.inference.parameters import Parameters
from tagtopic.models import inputs, setup
from tagtopic.models.checkpoint import Checkpoint
from tagtopic.models.course import Course
from tagtopic.models.document_questions import DocumentQuestions
from tagtopic.models.em import Callback, History
from tagtopic.models.fitting import fit_of
from tagtopic.models.pictures import Pictures
from tagtopic.models.posterior import DocumentPosteriors
from tagtopic.models.prediction import TagPredictor
from tagtopic.models.priors import Prior, smoothed_shares
from tagtopic.models.progress import watched
from tagtopic.models.questions import Questions
from tagtopic.models.ranking import RankedTags
from tagtopic.models.standing import Standing
from tagtopic.models.tag_questions import TagQuestions
from tagtopic.models.validation import hold_out

NUMBERS = [np.float64, np.float32, np.int64, np.int32]


class TagTopicModel(
    Questions,
    DocumentQuestions,
    TagQuestions,
    Pictures,
    Course,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """The family's common part; use TWTM, TWDA or LDA.

    Learnt attributes: ``components_`` (topics, words) and ``tag_topics_`` (tags, topics), whose rows sum to 1;
    ``words_``, ``rules_`` (how texts became words; None when it learnt from counts), ``word_counts_`` (in training),
    ``n_documents_``, ``tag_names_``, ``tag_frequencies_`` (the share of documents with the tag), ``tag_sizes_`` (the
    words credited to the tag), ``topic_shares_`` (of all words in training); the priors ``tag_weight_prior_``,
    ``latent_weight_prior_``, ``latent_topic_prior_``,
    ``tag_topic_prior_``, ``topic_word_prior_``; by iteration ``bound_`` and ``validation_perplexity_`` (of held-out
    words, where ``validation_fraction`` holds some out), together in ``history_``; ``prior_updates_`` (the iterations
    after which priors were learnt), ``n_iter_``, ``best_iteration_`` (the one that was kept), ``converged_``,
    ``interrupted_`` (whether Ctrl-C ended the fit);
    ``tag_predictor_`` (what ``predict_tags`` remembers of the documents; None without tags).
    """

    _latent: ClassVar[bool]
    _uses_tags: ClassVar[bool] = True

    n_topics: int
    inference: str
    max_iter: int
    tol: float
    sweeps: int
    tag_weight_prior: Prior
    latent_weight_prior: Prior
    latent_topic_prior: Prior
    tag_topic_prior: Prior
    topic_word_prior: Prior
    init: str
    dtype: str
    learning: str
    batch_size: int
    validation_fraction: float | None
    patience: int
    unknown_tags: str
    n_jobs: int | None
    random_state: Any
    callbacks: Sequence[Callback]
    progress: bool | None
    checkpoint: str | PathLike[str] | None
    checkpoint_every: int

    def fit(self, X: Any, y: Any = None, *, tags: Any = None, engine: Engine | None = None) -> Self:
        """Learn from a Corpus, or from texts or a matrix of word counts (documents, words) with ``tags`` beside them;
        or from what ``SparkEngine.read`` gave, on that engine.

        ``tags`` is a list of lists of names, or a 0/1 matrix or data frame of them. ``y`` is ignored, as in
        scikit-learn's transformers. Ctrl-C ends the fit early and the model stays as it then stood. With a
        ``checkpoint`` of the same corpus and settings, the fit goes on from there.

        Examples
        --------
        >>> TWDA(2, random_state=0).fit([[2, 0, 1], [0, 3, 1]], tags=[["blue"], ["red", "blue"]])
        TWDA(n_topics=2, random_state=0)
        """
        inputs.check_ignored(y, tags)
        corpus = self._training_corpus(X, tags)
        checkpoint = self._checkpoint(corpus)
        saved = checkpoint.load() if checkpoint else None
        with watched(self.progress) as bar:
            bar.begin("starting")
            with hold_out(corpus, setup.held_out_share(self, corpus), setup.seed_of(self)) as (training, watch):
                with fit_of(self, training, watch, saved, engine) as fit:
                    fit.checkpoint = checkpoint.callback if checkpoint else None
                    fit.run([*self.callbacks, *bar.follow(fit)])
                    outcome, history = fit.outcome, fit.history
                del fit  # its second copy of the topics need not stay while tags are learnt to be predicted
                self._keep(training, outcome, history)
            bar.begin("learning to predict tags")
            # documents with the words that were held out of them, as they are when they come to be audited
            self.tag_predictor_ = TagPredictor.fit(corpus, n_jobs=self.n_jobs)
        return self

    def partial_fit(self, X: Any, y: Any = None, *, tags: Any = None) -> Self:
        """Go on learning with more documents, which need not be kept: one pass, in mini-batches of ``batch_size``.

        They are taken as new documents: what was learnt is moved by as much as their share of all that was ever seen.
        Tags never seen before are learnt too. So are the new words of a Corpus (whose rules decided that they are
        words); texts and matrices are read in the words that the model has. ``predict_tags`` remembers the documents of
        the first call.

        Examples
        --------
        >>> later = TWDA(2, random_state=0).fit(corpus)
        >>> later.partial_fit(["a planet of the crime"], tags=[["space", "crime"]]).n_documents_
        21
        """
        from tagtopic.models.arriving import learn_more

        if not hasattr(self, "components_"):
            settings = {"learning": "online", "max_iter": 1, "checkpoint": None, "validation_fraction": 0.0}
            asked = {name: getattr(self, name) for name in settings}
            try:
                self.set_params(**settings)
                return self.fit(X, y, tags=tags)
            finally:
                self.set_params(**asked)
        inputs.check_ignored(y, tags)
        learn_more(self, self._as_corpus(X, tags, reset=False))
        return self

    def transform(self, X: Any, *, tags: Any = None) -> NDArray[np.floating[Any]]:
        """The topic mix of each document: (documents, topics), rows sum to 1.

        Examples
        --------
        >>> mix = model.transform(["the police and a killer"])[0]
        >>> int(mix.argmax()) == model.top_topics("crime", 1)[0][0]
        True
        """
        return self._posteriors(X, tags).topics

    def fit_transform(self, X: Any, y: Any = None, *, tags: Any = None) -> NDArray[np.floating[Any]]:
        """``fit``, then ``transform`` of the same documents.

        Examples
        --------
        >>> TWDA(2, random_state=0).fit_transform(corpus).shape
        (20, 2)
        """
        X = list(X) if isinstance(X, Iterator) else X
        return self.fit(X, y, tags=tags).transform(X, tags=tags)

    def tag_weights(
        self, X: Any, *, tags: Any = None, return_latent: bool = False, intervals: float | None = None
    ) -> Any:
        """How much each tag matters in each document: CSR (documents, tags).

        A row sums to 1 together with the share of the document's latent tag, where it has one; with
        ``return_latent`` those shares are returned too, as the second of a pair.

        With ``intervals`` (a probability such as 0.9) each document's weights are drawn from their posterior, and the
        answer has the matrices ``mean``, ``low`` and ``high``.

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
            from tagtopic.models.intervals import weight_intervals

            corpus = self.aligned(X, tags)
            drawn = weight_intervals(self.parameters_, corpus, intervals, self.n_jobs)
            return (drawn, self._posteriors(corpus, None).latent) if return_latent else drawn
        found = self._posteriors(X, tags)
        return (found.weights, found.latent) if return_latent else found.weights

    def rank_tags(self, X: Any, *, tags: Any = None, n: int | None = None) -> RankedTags:
        """For each document its tags with their weights, heaviest first; at most n of them.

        The answer is a sequence of lists of (tag, weight), one a document, made as they are looked at. A weight counts
        the words that speak for the tag and the prior; ``explain`` has the words' shares alone.

        Examples
        --------
        >>> [tag for tag, weight in model.rank_tags(corpus)[1]]
        ['space', 'monster']
        """
        return RankedTags.of(self.tag_weights(X, tags=tags), self.tag_names_, n)

    def perplexity(self, X: Any, *, tags: Any = None, method: str = "completion", random_state: int = 0) -> float:
        """How surprised the model is by a word, as a number of equally likely words: lower is better.

        ``"completion"`` infers each document's topics from half of its words and scores the other half;
        ``"fitted"`` infers and scores on the same words, which flatters many topics; ``"bound"`` is
        exp(-bound / words), for the ways of inference that bound the likelihood ("paper" and "mixture").

        Examples
        --------
        >>> model.perplexity(corpus) < corpus.n_words
        True
        """
        from tagtopic.evaluation.perplexity import perplexity

        check_is_fitted(self)
        return perplexity(self, X, tags=tags, method=method, random_state=random_state).value

    def score(self, X: Any, y: Any = None, *, tags: Any = None) -> float:
        """The mean log probability of a word by document completion: higher is better.

        Examples
        --------
        >>> import numpy as np
        >>> bool(np.isclose(model.score(corpus), -np.log(model.perplexity(corpus))))
        True
        """
        return -float(np.log(self.perplexity(X, tags=tags)))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, whole or not at all.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/films.tagtopic")
        ...     TWDA.load(f"{folder}/films.tagtopic").tag_names_
        ('Fincher', 'crime', 'monster', 'space')
        """
        from tagtopic.models.file import save_model

        check_is_fitted(self)
        save_model(self, Path(path))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """A model from a file that ``save`` wrote. Nothing in the file is executed.

        Examples
        --------
        >>> TWDA.load("nowhere.tagtopic")
        Traceback (most recent call last):
        FileNotFoundError: ...
        """
        from tagtopic.models.file import load_model

        return load_model(Path(path), cls)

    def aligned(self, X: Any, tags: Any = None) -> Corpus:
        """X as a Corpus in this model's words and tags; what it has never seen is left out.

        Examples
        --------
        >>> model.aligned(["a ship and a zeppelin"]).counts.sum()
        np.int64(1)
        """
        check_is_fitted(self)
        corpus = self._as_corpus(X, tags, reset=False)
        if not self._uses_tags:
            corpus = inputs.without_tags(corpus)
        known = inputs.aligned(corpus, self.words_, self.tag_names_, self.unknown_tags)
        return inputs.without_unseen_words(known, self.word_counts_)

    @property
    def parameters_(self) -> Parameters:
        """The learnt parameters as inference takes them.

        Examples
        --------
        >>> model.parameters_.psi.shape == (corpus.n_words, 2)
        True
        """
        check_is_fitted(self)
        return Parameters(
            psi=self.components_.T,
            theta=self.tag_topics_,
            pi=self.tag_weight_prior_,
            pi_latent=self.latent_weight_prior_,
            mu=self.latent_topic_prior_,
            latent=self._latent,
        )

    def _posteriors(self, X: Any, tags: Any) -> DocumentPosteriors:
        return self._infer(self.aligned(X, tags))

    def _checkpoint(self, corpus: Collection) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        return Checkpoint.of(self.checkpoint, self.checkpoint_every, corpus, type(self).__name__, self.get_params())

    def _training_corpus(self, X: Any, tags: Any) -> Collection:
        corpus: Collection
        if isinstance(X, RemoteCorpus):
            corpus = inputs.remote(X, tags, uses_tags=self._uses_tags)
            self._take_columns(X.n_words)
        else:
            here = self._as_corpus(X, tags, reset=True)
            corpus = here if self._uses_tags else inputs.without_tags(here)
        setup.check_settings(self, corpus)
        if not corpus.n_tokens:
            raise ValueError(f"there are no words in the {len(corpus)} documents: nothing to learn from")
        if not self._latent:
            setup.require_tags(corpus)
        return corpus

    def _as_corpus(self, X: Any, tags: Any, *, reset: bool) -> Corpus:
        if isinstance(X, RemoteCorpus):
            raise ValueError(
                "the documents are on a cluster: bring some here, as in corpus[rows], or apply the model there with "
                "tagtopic.engines.spark.frames.apply_model"
            )
        if hasattr(X, "mapInArrow"):
            raise TypeError(
                "this is a Spark DataFrame: fit what an engine reads of it, as in "
                "model.fit(engine.read(frame, text=…, tags=…)); apply a fitted model to it with "
                "tagtopic.engines.spark.frames.apply_model"
            )
        known_tags = None if reset else self.tag_names_
        X = list(X) if isinstance(X, Iterator) else X
        if isinstance(X, Corpus):
            if reset:
                self._take_columns(X.n_words)
            return inputs.with_tags(X, tags, known_tags)
        if inputs.is_texts(X):
            words, rules = (None, None) if reset else (self.words_, self.rules_)
            corpus = inputs.corpus_from_texts(X, tags, words, rules, known_tags)
            if reset:
                self._take_columns(corpus.n_words)
            return corpus
        inputs.check_no_documents(X)
        counts = validate_data(self, X, accept_sparse="csr", dtype=NUMBERS, reset=reset)
        check_non_negative(counts, type(self).__name__)
        words = getattr(self, "feature_names_in_", None) if reset else self.words_
        return inputs.corpus_from_matrix(sp.csr_array(counts), tags, words, known_tags)

    def _take_columns(self, number: int) -> None:
        """Be fitted on so many columns, and not on those of an earlier data frame."""
        self.n_features_in_ = number
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _keep(self, corpus: Collection, outcome: Standing, history: History) -> None:
        parameters = outcome.parameters
        self.components_ = parameters.psi.T
        self.tag_topics_ = parameters.theta
        self.words_, self.tag_names_ = corpus.words, corpus.tag_names
        self.rules_ = corpus.rules
        self.word_counts_ = corpus.word_counts()
        self.topic_shares_ = smoothed_shares(outcome.topic_sizes, 0.0)
        self.tag_frequencies_ = corpus.tag_sizes() / len(corpus)
        self.tag_sizes_ = outcome.tag_sizes
        self.n_documents_ = len(corpus)
        self.tag_weight_prior_ = parameters.pi
        self.latent_weight_prior_ = parameters.pi_latent
        # TWTM never learns mu; a document without tags then leans to what the corpus is about
        self.latent_topic_prior_ = parameters.mu if self._latent else parameters.mu.sum() * self.topic_shares_ + 1e-6
        self.tag_topic_prior_, self.topic_word_prior_ = outcome.priors.alpha, outcome.priors.beta
        self.bound_ = np.array(history.bound)
        self.validation_perplexity_ = np.array(history.perplexity)
        self.prior_updates_ = tuple(history.prior_updates)
        self.n_iter_ = len(history.bound)
        self.converged_ = history.converged
        self.interrupted_ = history.interrupted

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []
        return tags
