"""The estimator that TWTM, TWDA and LDA share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from tagtopic._core.arrays import Float64s, Floats, largest
from tagtopic._core.display import html_card
from tagtopic.corpus import Corpus, Document
from tagtopic.corpus.collection import Collection, RemoteCorpus
from tagtopic.corpus.tags import kind_of
from tagtopic.corpus.text.rules import TextRules
from tagtopic.engines import LocalEngine
from tagtopic.engines.base import Engine
from tagtopic.engines.posterior import DocumentPosteriors
from tagtopic.inference.methods import method_of
from tagtopic.inference.types import Parameters
from tagtopic.models import _inputs, _settings
from tagtopic.models._batch import Callback, Fit, History, batch_fit
from tagtopic.models._checkpoint import Checkpoint, Saved
from tagtopic.models._online import online_fit
from tagtopic.models._progress import watched
from tagtopic.models._queries import nearest_rows, suggest_names, top_by_share
from tagtopic.models._settings import Prior, smoothed_shares
from tagtopic.models._snapshot import Standing
from tagtopic.models._validation import HeldOut, hold_out
from tagtopic.tagging.predictor import TagPredictor, fit_if_tagged
from tagtopic.tagging.ranking import RankedTags

if TYPE_CHECKING:
    from tagtopic.tagging.audit import TagReport
    from tagtopic.tagging.explanation import Explanation

NUMERIC = [np.float64, np.float32, np.int64, np.int32]

PREDICTION_METHODS = ("neighbours", "likelihood")

MAX_TOPICS_SHOWN = 20
"""Topics in the HTML of a model."""


class TagTopicModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The family's common part; use TWTM, TWDA or LDA.

    Learnt attributes: ``components_`` (topics, words) and ``tag_topics_`` (tags, topics), whose rows sum to 1;
    ``words_``, ``rules_`` (how texts became words; None when it learnt from counts), ``word_counts_`` (in training),
    ``n_documents_``, ``tag_names_``, ``tag_frequencies_`` (the share of documents with the tag), ``tag_sizes_`` (the
    words assigned to the tag), ``topic_shares_`` (of all words in training); the priors ``tag_weight_prior_``,
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

    components_: Floats
    tag_topics_: Floats
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
    bound_: Float64s
    validation_perplexity_: Float64s
    prior_updates_: tuple[int, ...]
    n_iter_: int
    converged_: bool
    interrupted_: bool
    tag_predictor_: TagPredictor | None

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
        _inputs.check_ignored(y, tags)
        corpus = self._training_corpus(X, tags)
        checkpoint = self._checkpoint(corpus)
        saved = checkpoint.load() if checkpoint else None
        with watched(self.progress) as bar:
            bar.begin("starting")
            with hold_out(corpus, _settings.held_out_share(self, corpus), _settings.seed_of(self)) as (training, watch):
                with self._start_fit(training, watch, saved, engine) as fit:
                    fit.checkpoint = checkpoint.callback if checkpoint else None
                    fit.run([*self.callbacks, *bar.follow(fit)])
                    outcome, history = fit.outcome, fit.history
                del fit  # its second copy of the topics need not stay while tags are learnt to be predicted
                self._keep(training, outcome, history)
            bar.begin("learning to predict tags")
            # documents with the words that were held out of them, as they are when they come to be audited
            self.tag_predictor_ = fit_if_tagged(corpus, self.n_jobs)
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
        from tagtopic.models._partial_fit import learn_more

        if not hasattr(self, "components_"):
            settings = {"learning": "online", "max_iter": 1, "checkpoint": None, "validation_fraction": 0.0}
            asked = {name: getattr(self, name) for name in settings}
            try:
                self.set_params(**settings)
                return self.fit(X, y, tags=tags)
            finally:
                self.set_params(**asked)
        _inputs.check_ignored(y, tags)
        learn_more(self, self._as_corpus(X, tags, reset=False))
        return self

    def fit_transform(self, X: Any, y: Any = None, *, tags: Any = None) -> NDArray[np.floating[Any]]:
        """``fit``, then ``transform`` of the same documents.

        Examples
        --------
        >>> TWDA(2, random_state=0).fit_transform(corpus).shape
        (20, 2)
        """
        X = list(X) if isinstance(X, Iterator) else X
        return self.fit(X, y, tags=tags).transform(X, tags=tags)

    def fit_tag_predictor(self, X: Any, *, tags: Any = None) -> Self:
        """Let ``predict_tags`` learn from these documents in place of the training documents (``fit`` does it too).

        Examples
        --------
        >>> later = TWDA(2, random_state=0).fit(corpus)
        >>> later.fit_tag_predictor(["a robot on mars", "mars and a ship"] * 5, tags=[["monster"], ["space"]] * 5)
        TWDA(n_topics=2, random_state=0)
        """
        check_is_fitted(self)
        self.tag_predictor_ = fit_if_tagged(self.aligned(X, tags), self.n_jobs)
        return self

    def fit_weight_prior(self, X: Any, *, tags: Any = None, noise: float = 0.0) -> Self:
        """Scale the priors of the tag weights to where these documents, which the model has not seen, are told best.

        The priors that are best to learn topics with are not those to read new documents with: give documents that were
        held out of training, a few hundred or more. ``tag_weight_prior_`` and ``latent_weight_prior_`` change, and with
        them whatever is asked of documents' weights and topics. ``noise`` is how many wrong tags to expect for each
        right one: the documents get so many at random first, and the priors learn to leave them out.

        Examples
        --------
        >>> later = TWDA(2, random_state=0).fit(corpus)
        >>> later.fit_weight_prior(["a monster flies to a planet"] * 20, tags=[["crime", "monster"]] * 20)
        TWDA(n_topics=2, random_state=0)
        >>> later.tag_weight_prior_[0] < 1
        np.True_
        """
        from tagtopic.models._weight_prior import learn_weight_prior

        check_is_fitted(self)
        if not noise >= 0:
            raise ValueError(f"noise={noise!r}: expected a number from 0")
        method = method_of(self.inference).for_new_documents.name
        found = learn_weight_prior(self.parameters_, method, self.aligned(X, tags), noise, LocalEngine(self.n_jobs))
        self.tag_weight_prior_, self.latent_weight_prior_ = found.pi, found.pi_latent
        return self

    # how the fit went

    @property
    def history_(self) -> dict[str, NDArray[np.float64]]:
        """The curves by iteration: ``"bound"`` and, if words were held out, their ``"perplexity"``.

        Examples
        --------
        >>> len(model.history_["bound"]) == model.n_iter_
        True
        """
        check_is_fitted(self)
        watched = {"perplexity": self.validation_perplexity_} if len(self.validation_perplexity_) else {}
        return {"bound": self.bound_, **watched}

    @property
    def best_iteration_(self) -> int:
        """The iteration (from 1) whose parameters were kept: the last, or the best on held-out words.

        Examples
        --------
        >>> model.best_iteration_ == model.n_iter_  # no words were held out
        True
        """
        check_is_fitted(self)
        watched = self.validation_perplexity_
        return int(np.argmin(watched)) + 1 if len(watched) else self.n_iter_

    @property
    def stopped_early_(self) -> bool:
        """Whether the fit ended because held-out words were not predicted any better.

        Examples
        --------
        >>> model.stopped_early_
        False
        """
        return self.n_iter_ - self.best_iteration_ >= self.patience

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

    # documents in the model's columns

    def transform(self, X: Any, *, tags: Any = None) -> NDArray[np.floating[Any]]:
        """The topic mix of each document: (documents, topics), rows sum to 1.

        Examples
        --------
        >>> mix = model.transform(["the police and a killer"])[0]
        >>> int(mix.argmax()) == model.top_topics("crime", 1)[0][0]
        True
        """
        return self._posteriors(X, tags).topics

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
            corpus = _inputs.without_tags(corpus)
        known = _inputs.aligned(corpus, self.words_, self.tag_names_, self.unknown_tags)
        return _inputs.without_unseen_words(known, self.word_counts_)

    def one_document(self, document: Any, tags: Any = None) -> Corpus:
        """One document, in any of the forms that ``explain`` takes, as a corpus in the model's columns.

        Examples
        --------
        >>> model.one_document("the ship", tags=["space"])
        Corpus(1 documents, 7 words, 4 tags)
        """
        check_is_fitted(self)
        if isinstance(document, Document):
            own = [document.tags if tags is None else tags]
            words, counts = list(document.words), list(document.words.values())
            fractional = any(count != int(count) for count in counts)
            document = Corpus.from_counts([counts], own, words=words, ids=[document.id], fractional=fractional)
            tags = None
        elif isinstance(document, str):
            document, tags = [document], None if tags is None else [tags]
        corpus = self.aligned(document, tags)
        if len(corpus) != 1:
            raise ValueError(f"explain takes one document, not {len(corpus)}: give corpus[i], or a text")
        return corpus

    # topics

    def top_words(self, topic: int, n: int = 10) -> list[tuple[str, float]]:
        """The n most probable words of a topic, with their probabilities.

        Examples
        --------
        >>> topic, _ = model.top_topics("crime", 1)[0]
        >>> sorted(word for word, probability in model.top_words(topic, 2))
        ['killer', 'police']
        """
        topic = self._topic(topic)
        return largest(self.components_[topic], self.words_, n)

    def top_tags(self, topic: int, n: int = 10) -> list[tuple[str, float]]:
        """The n tags that speak most of a topic: p(tag | topic), each tag weighed by how often it is used.

        Examples
        --------
        >>> topic, _ = model.top_topics("crime", 1)[0]
        >>> [tag for tag, share in model.top_tags(topic, 2)]
        ['crime', 'Fincher']
        """
        topic = self._topic(topic)
        joint = self.tag_topics_[:, topic] * self.tag_frequencies_
        return largest(joint / max(float(joint.sum()), 1e-300), self.tag_names_, n)

    def top_documents(self, X: Any, topic: int, n: int = 10, *, tags: Any = None) -> list[tuple[str, float]]:
        """The n documents that have most of a topic: their ids, and its share of each.

        Documents of fewer than 20 known words are left out while there are n longer ones: their mix says little.

        Examples
        --------
        >>> topic, _ = model.top_topics("space", 1)[0]
        >>> [id for id, share in model.top_documents(["the police", "a ship in space", "a monster"], topic, 2)]
        ['1', '2']
        """
        topic = self._topic(topic)
        corpus = self.aligned(X, tags)
        shares = self._infer(corpus).topics[:, topic]
        return [(corpus.ids[d], share) for d, share in top_by_share(shares, corpus.lengths(), n)]

    # tags

    def top_topics(self, tag: str, n: int = 5) -> list[tuple[int, float]]:
        """The n topics that a tag speaks most of, with their shares.

        Examples
        --------
        >>> topic, share = model.top_topics("space", 1)[0]
        >>> round(share, 1)
        0.9
        """
        number = self._tag(tag)
        row = self.tag_topics_[number]
        return [(int(topic), float(row[topic])) for topic in np.argsort(-row, kind="stable")[:n]]

    def tag_words(self, tag: str, n: int = 10) -> list[tuple[str, float]]:
        """The n words that a tag makes most probable: its topics' words, mixed as it mixes the topics.

        Examples
        --------
        >>> model.tag_words("space", 1)[0][0]
        'ship'
        """
        number = self._tag(tag)
        return largest(self.tag_topics_[number] @ self.components_, self.words_, n)

    def most_used_tags(self, n: int = 10, *, kind: str | None = None) -> list[str]:
        """The n tags on most documents, of one kind if one is given (what stands before the colon).

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

    def similar_tags(self, tag: str, n: int = 10) -> list[tuple[str, float]]:
        """The n tags whose topics are most like this tag's: 1 is the same, 0 is nothing in common (Bhattacharyya).

        Examples
        --------
        >>> model.similar_tags("space", 1)[0][0]
        'monster'
        """
        number = self._tag(tag)
        return nearest_rows(np.sqrt(self.tag_topics_), number, self.tag_names_, n)

    # documents

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
            from tagtopic.models._intervals import weight_intervals

            corpus = self.aligned(X, tags)
            drawn = weight_intervals(self.parameters_, corpus, intervals, LocalEngine(self.n_jobs))
            return (drawn, self._posteriors(corpus, None).latent) if return_latent else drawn
        found = self._posteriors(X, tags)
        return (found.weights, found.latent) if return_latent else found.weights

    def rank_tags(self, X: Any, *, tags: Any = None, n: int | None = None) -> RankedTags:
        """For each document its tags with their weights, heaviest first; at most n of them.

        The answer is a sequence of lists of (tag, weight), one a document, made as they are looked at. A weight counts
        the words that are evidence for the tag and the prior; ``explain`` has the words' shares alone.

        Examples
        --------
        >>> [tag for tag, weight in model.rank_tags(corpus)[1]]
        ['space', 'monster']
        """
        return RankedTags.from_weights(self.tag_weights(X, tags=tags), self.tag_names_, n)

    def predict_tags(
        self, X: Any, n: int = 10, *, method: str = "neighbours", kinds: Iterable[str] | None = None
    ) -> list[list[tuple[str, float]]]:
        """Predict the n most probable tags of each document, with their probabilities.

        Only words count: tags that the documents already have are neither used nor left out.

        ``method="neighbours"`` asks the training documents that are like each one, and each tag's documents together;
        its probabilities are calibrated, of tags given 0.8 about 80% are right. ``"likelihood"`` is the paper's score,
        p(d | tag) over the topics, scaled to sum to 1 over the tags. ``kinds`` keeps to tags of some kinds (what stands
        before the colon).

        Examples
        --------
        >>> for tag, probability in model.predict_tags(["a monster"], n=2)[0]:
        ...     print(tag, probability > 0.5)
        monster True
        space True
        """
        check_is_fitted(self)
        if method not in PREDICTION_METHODS:
            raise ValueError(f"method={method!r}: expected one of {', '.join(map(repr, PREDICTION_METHODS))}")
        if n < 1:
            raise ValueError(f"n={n!r}: expected a whole number from 1")
        if not self.tag_names_:
            raise ValueError("the model has learnt no tags, so it cannot predict any")
        if self.tag_predictor_ is None:
            raise ValueError("the model does not remember documents with tags: fit_tag_predictor(corpus) makes it")
        counts = self._only_words(X).counts
        if method == "neighbours":
            return self.tag_predictor_.predict_counts(counts, n, kinds=kinds, n_jobs=self.n_jobs)
        from tagtopic.tagging.likelihood import predict_by_likelihood

        allowed = self.tag_predictor_.tags_of_kinds(kinds)
        return predict_by_likelihood(self.parameters_, counts, allowed, self.tag_names_, n, self.n_jobs)

    def audit_tags(self, X: Any, *, tags: Any = None) -> TagReport:
        """Which tags of these documents explain nothing of them, worst first, with the evidence; which may be one tag.

        A tag is judged by documents alike, by topics, and by the other tags of its document, against tags drawn at
        random. Documents that the model was trained on are judged as if it had not been.

        Examples
        --------
        >>> report = model.audit_tags(corpus)
        >>> len(report.entries)
        30
        >>> 0 <= report.entries[0].plausibility <= report.entries[-1].plausibility <= 1
        True
        """
        from tagtopic.tagging.audit import audit

        check_is_fitted(self)
        if not self.tag_names_:
            raise ValueError("the model has learnt no tags, so there are none that it could audit")
        if self.tag_predictor_ is None:
            raise ValueError("the model does not remember documents with tags: fit_tag_predictor(corpus) makes it")
        corpus = self.aligned(X, tags)
        if not corpus.tags.nnz:
            raise ValueError("the documents have no tags that the model knows: there is nothing to audit")
        posteriors = self._posteriors(corpus, None)
        return audit(
            self.parameters_,
            self.tag_predictor_,
            self.topic_shares_,
            self.word_counts_,
            corpus,
            posteriors,
            self.n_jobs,
        )

    def explain(self, document: Any, *, tags: Any = None) -> Explanation:
        """Each word of a document with the topic and the tag that it is assigned to.

        ``document`` is one document of a corpus (``corpus[17]``), a text with its ``tags`` beside it, or anything that
        ``transform`` takes with just one document in it. Its ``tag_shares`` are of the words alone; the weights of
        ``rank_tags`` and ``tag_weights`` count the prior too, which evens them out, most in short texts.

        Examples
        --------
        >>> explanation = model.explain("the ship", tags=["space"])
        >>> [word.word for word in explanation.words]
        ['ship']
        >>> list(explanation.tag_shares)
        ['space']
        """
        from tagtopic.tagging.explanation import explain_document

        return explain_document(
            self.parameters_, method_of(self.inference).for_new_documents.name, self.one_document(document, tags)
        )

    # evaluation

    def perplexity(self, X: Any, *, tags: Any = None, method: str = "completion", random_state: int = 0) -> float:
        """How surprised the model is by a word, as a number of equally likely words: lower is better.

        ``"completion"`` infers each document's topics from half of its words and scores the other half;
        ``"fitted"`` infers and scores on the same words, which flatters many topics; ``"bound"`` is
        exp(-bound / words), for the inference methods that bound the likelihood ("paper" and "mixture").

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

    # plots

    def plot_topics(self) -> Any:
        """The topics as a map, a plotly figure: areas by share, topics with the same words near each other.

        Examples
        --------
        >>> len(model.plot_topics().data) > 0
        True
        """
        from tagtopic.models.plotting import plot_topics

        return plot_topics(self)

    def plot_tag(self, tag: str, n: int = 15) -> Any:
        """What a tag is about, a plotly figure: its topics, and its n most distinctive words.

        Examples
        --------
        >>> len(model.plot_tag("space").data) > 0
        True
        """
        from tagtopic.models.plotting import plot_tag

        return plot_tag(self, tag, n)

    def plot_document(self, document: Any, *, tags: Any = None) -> Any:
        """A document's topics and the weights of its tags with 90% intervals, a plotly figure.

        ``document`` is what ``explain`` takes: one document of a corpus, or a text with its ``tags`` beside it.

        Examples
        --------
        >>> len(model.plot_document("the ship", tags=["space"]).data) > 0
        True
        """
        from tagtopic.models.plotting import plot_document

        return plot_document(self, document, tags)

    def to_pyldavis(self, X: Any, *, tags: Any = None, **options: Any) -> Any:
        """The model and documents as pyLDAvis prepares them, where it is installed; ``options`` are its own.

        Examples
        --------
        >>> wide = TWDA(4, random_state=0).fit(corpus)
        >>> wide.to_pyldavis(corpus).topic_info.columns[0]  # doctest: +SKIP
        'Term'
        """
        from tagtopic.models.plotting import to_pyldavis

        return to_pyldavis(self, X, tags, options)

    def _repr_html_(self) -> str:
        try:
            check_is_fitted(self)
        except NotFittedError:
            return str(estimator_html_repr(self))
        order = sorted(range(len(self.topic_shares_)), key=lambda k: -self.topic_shares_[k])
        rows = [
            [
                str(k),
                f"{self.topic_shares_[k]:.1%}",
                _names(self.top_words(k, 8), " "),
                _names(self.top_tags(k, 4), ", "),
            ]
            for k in order[:MAX_TOPICS_SHOWN]
        ]
        more = f", the {MAX_TOPICS_SHOWN} largest topics" if len(order) > MAX_TOPICS_SHOWN else ""
        figures = [("topics", f"{len(order):,}"), ("words", f"{len(self.words_):,}")]
        figures += [("tags", f"{len(self.tag_names_):,}"), ("iterations", f"{self.n_iter_:,}")]
        return html_card(f"{type(self).__name__}{more}", figures, ["topic", "share", "words", "tags"], rows)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # files

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
        from tagtopic.models._io import save_model

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
        from tagtopic.models._io import load_model

        return load_model(Path(path), cls)

    def _topic(self, topic: int) -> int:
        check_is_fitted(self)
        if not 0 <= topic < len(self.components_):
            raise ValueError(f"there is no topic {topic}: the model has {len(self.components_)}, from 0")
        return topic

    def _tag(self, tag: str) -> int:
        check_is_fitted(self)
        try:
            return self.tag_names_.index(tag)
        except ValueError:
            near = suggest_names(tag, self.tag_names_)
            hint = f"; near it are {', '.join(map(repr, near))}" if near else ""
            raise ValueError(f"the model has never seen the tag {tag!r}{hint}") from None

    def _posteriors(self, X: Any, tags: Any) -> DocumentPosteriors:
        return self._infer(self.aligned(X, tags))

    def _infer(self, aligned: Corpus) -> DocumentPosteriors:
        method = method_of(self.inference).for_new_documents.name
        return LocalEngine(self.n_jobs).infer(aligned, self.parameters_, method)

    def _only_words(self, X: Any) -> Corpus:
        corpus = self._as_corpus(X, None, reset=False)
        words = _inputs.aligned(_inputs.without_tags(corpus), self.words_, (), "ignore")
        return _inputs.without_unseen_words(words, self.word_counts_)

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
            return _inputs.with_tags(X, tags, known_tags)
        if _inputs.is_texts(X):
            words, rules = (None, None) if reset else (self.words_, self.rules_)
            corpus = _inputs.corpus_from_texts(X, tags, words, rules, known_tags)
            if reset:
                self._take_columns(corpus.n_words)
            return corpus
        _inputs.check_no_documents(X)
        counts = validate_data(self, X, accept_sparse="csr", dtype=NUMERIC, reset=reset)
        check_non_negative(counts, type(self).__name__)
        words = getattr(self, "feature_names_in_", None) if reset else self.words_
        return _inputs.corpus_from_matrix(sp.csr_array(counts), tags, words, known_tags)

    def _take_columns(self, number: int) -> None:
        """Be fitted on so many columns, and not on those of an earlier data frame."""
        self.n_features_in_ = number
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _training_corpus(self, X: Any, tags: Any) -> Collection:
        corpus: Collection
        if isinstance(X, RemoteCorpus):
            corpus = _inputs.remote(X, tags, uses_tags=self._uses_tags)
            self._take_columns(X.n_words)
        else:
            here = self._as_corpus(X, tags, reset=True)
            corpus = here if self._uses_tags else _inputs.without_tags(here)
        _settings.check_settings(self, corpus)
        if not corpus.n_tokens:
            raise ValueError(f"there are no words in the {len(corpus)} documents: nothing to learn from")
        if not self._latent:
            _settings.require_tags(corpus)
        return corpus

    @contextmanager
    def _start_fit(
        self, corpus: Collection, watch: HeldOut | None, saved: Saved | None, engine: Engine | None
    ) -> Iterator[Fit]:
        """The fit that the settings ask for, from its start or from where it was saved."""
        start = online_fit if self.learning == _settings.ONLINE else batch_fit
        with start(self, corpus, watch, saved, engine) as fit:
            if saved is not None:
                saved.restore(fit)
            yield fit

    def _checkpoint(self, corpus: Collection) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        settings = {**self.get_params(), "inference": method_of(self.inference).name}
        return Checkpoint.of(self.checkpoint, self.checkpoint_every, corpus, type(self).__name__, settings)

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


def _names(ranked: list[tuple[str, float]], between: str) -> str:
    return between.join(name for name, _ in ranked)
