"""Questions about the tags of documents: what they explain, which are wrong, which are missing.

Each method only says what is asked; the modules that it calls answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tagtopic.inference.arrays import way_for_new_documents
from tagtopic.models import inputs
from tagtopic.models.prediction import TagPredictor

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.inference.arrays import Float64s
    from tagtopic.inference.parameters import Parameters
    from tagtopic.models.audit import TagReport
    from tagtopic.models.explanation import Explanation
    from tagtopic.models.posterior import DocumentPosteriors

METHODS = ("neighbours", "likelihood")


class TagQuestions:
    """What a fitted model says about the tags of documents."""

    tag_predictor_: TagPredictor | None

    if TYPE_CHECKING:
        n_jobs: int | None
        inference: str
        words_: tuple[str, ...]
        tag_names_: tuple[str, ...]
        word_counts_: Float64s
        topic_shares_: Float64s
        tag_weight_prior_: Float64s
        latent_weight_prior_: float

        _as_corpus: Callable[..., Corpus]
        aligned: Callable[..., Corpus]
        _posteriors: Callable[..., DocumentPosteriors]

        @property
        def parameters_(self) -> Parameters:
            """The learnt parameters as inference takes them."""
            ...

    def predict_tags(
        self, X: Any, n: int = 10, *, method: str = "neighbours", kinds: Iterable[str] | None = None
    ) -> list[list[tuple[str, float]]]:
        """For each document the n tags that its words speak for most, with their probabilities.

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
        if method not in METHODS:
            raise ValueError(f"method={method!r}: expected one of {', '.join(map(repr, METHODS))}")
        if n < 1:
            raise ValueError(f"n={n!r}: expected a whole number from 1")
        if not self.tag_names_:
            raise ValueError("the model has learnt no tags, so it cannot predict any")
        if self.tag_predictor_ is None:
            raise ValueError("the model does not remember documents with tags: fit_tag_predictor(corpus) makes it")
        counts = self._only_words(X).counts
        if method == "neighbours":
            return self.tag_predictor_.predict(counts, n, kinds=kinds, n_jobs=self.n_jobs)
        from tagtopic.models.prediction.likelihood import predict_by_likelihood

        allowed = self.tag_predictor_.allowed(kinds)
        return predict_by_likelihood(self.parameters_, counts, allowed, self.tag_names_, n, self.n_jobs)

    def fit_tag_predictor(self, X: Any, *, tags: Any = None) -> Self:
        """Let ``predict_tags`` learn from these documents in place of the training documents (``fit`` does it too).

        Examples
        --------
        >>> later = TWDA(2, random_state=0).fit(corpus)
        >>> later.fit_tag_predictor(["a robot on mars", "mars and a ship"] * 5, tags=[["monster"], ["space"]] * 5)
        TWDA(n_topics=2, random_state=0)
        """
        check_is_fitted(self)
        self.tag_predictor_ = TagPredictor.fit(self.aligned(X, tags), n_jobs=self.n_jobs)
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
        from tagtopic.models.weight_prior import learn_weight_prior

        check_is_fitted(self)
        if not noise >= 0:
            raise ValueError(f"noise={noise!r}: expected a number from 0")
        way = way_for_new_documents(self.inference)
        found = learn_weight_prior(self.parameters_, way, self.aligned(X, tags), noise, self.n_jobs)
        self.tag_weight_prior_, self.latent_weight_prior_ = found.pi, found.pi_latent
        return self

    def explain(self, document: Any, *, tags: Any = None) -> Explanation:
        """Each word of a document with the topic and the tag that it is credited to.

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
        from tagtopic.models.explanation import explain_document

        return explain_document(
            self.parameters_, way_for_new_documents(self.inference), self.one_document(document, tags)
        )

    def one_document(self, document: Any, tags: Any = None) -> Corpus:
        """One document, in any of the forms that ``explain`` takes, as a corpus in the model's columns.

        Examples
        --------
        >>> model.one_document("the ship", tags=["space"])
        Corpus(1 documents, 7 words, 4 tags)
        """
        from tagtopic.corpus import Corpus, Document

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

    def audit_tags(self, X: Any, *, tags: Any = None) -> TagReport:
        """Which tags of these documents explain nothing of them, worst first, with the evidence; which may be one tag.

        A tag is judged by documents alike, by topics, and by the other tags of its document, against tags drawn at
        random. Documents that the model was trained on are judged as if it had not been.

        Examples
        --------
        >>> report = model.audit_tags(corpus)
        >>> len(report.entries)
        30
        >>> 0 <= report.entries[0].belongs <= report.entries[-1].belongs <= 1
        True
        """
        from tagtopic.models.audit import audit

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

    def _only_words(self, X: Any) -> Corpus:
        corpus = self._as_corpus(X, None, reset=False)
        words = inputs.aligned(inputs.without_tags(corpus), self.words_, (), "ignore")
        return inputs.without_unseen_words(words, np.asarray(self.word_counts_))
