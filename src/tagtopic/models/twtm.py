"""The Tag-Weighted Topic Model."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

from tagtopic.models._base import TagTopicModel
from tagtopic.models._batch import Callback
from tagtopic.models._published import published_settings
from tagtopic.models._settings import Prior


class TWTM(TagTopicModel):
    """The Tag-Weighted Topic Model: a document mixes the topics of its tags.

    A document's topic proportions are a weighted mixture of the topics of its tags, and of no others [1]. Every
    training document needs a tag (``TWDA`` does not require that). At ``transform`` a document without known tags gets
    the topics that its words indicate, as in LDA.

    Parameters
    ----------
    n_topics : int, default=50
        The number of topics.
    inference : {"auto", "gibbs", "cvb0", "map", "mixture", "paper"}, default="auto"
        The inference method. ``"gibbs"``: collapsed Gibbs sampling [4], averaged over draws, which has the lowest
        perplexity of held-out words and gives tags that are mixtures of topics. It takes whole counts and fixed
        priors. ``"cvb0"``: collapsed variational Bayes with leave-one-out counts [2], a point estimate. ``"map"``: EM
        for the mode of a penalised likelihood. ``"mixture"``: mean-field variational Bayes, with a bound on the
        likelihood no looser than the paper's. ``"paper"``: the update equations of [1]; ``as_published`` has its
        priors, its start and its schedule too.
        ``"auto"``: ``"map"`` for fewer than 10,000 words in all; otherwise ``"gibbs"`` where it can run, and ``"cvb0"``
        elsewhere, as for online learning. ``inference_`` is the one that was chosen.
    max_iter : int or None, default=None
        The largest number of EM iterations, or of passes over the documents for online learning; of ``"gibbs"``, the
        number of sweeps. None is 400 for ``"gibbs"``, and 200 otherwise.
    tol : float, default=1e-5
        The fit has converged when an iteration changes the objective by at most this share of it.
    sweeps : int, default=2
        Updates of each document's posterior per E-step, at most.
    sweep_tol : float, default=0.0
        An E-step ends for a document whose topic mix changes by at most this share in an update; 0: after ``sweeps``
        updates.
    prior_warm_up : int, default=20
        Iterations before the first update of a prior that is learnt.
    prior_every : int, default=10
        Iterations between two updates of priors.
    tag_weight_prior : float, array of shape (n_tags,), "estimate", "maximum-likelihood" or None, default=None
        Dirichlet prior of the tag weights in a document. ``"estimate"``: empirical Bayes under a hyper-prior;
        ``"maximum-likelihood"``: without one, as in the paper. None is 1; for ``inference="gibbs"`` it is 0.2 on
        average, spread during burn-in by the tags' words per document, and ``"estimate"`` is at least that: its mean is
        the one that makes the counts of tags in documents most likely, which helps weights rather than prediction.
    tag_topic_prior : float, array of shape (n_topics,), "estimate" or "maximum-likelihood", default=2.0
        Prior counts of each tag's topics: a number of tokens spread over the topics by their size, or one number per
        topic. 0 or ``"maximum-likelihood"``: none.
    topic_word_prior : float, array of shape (n_words,), "estimate", "maximum-likelihood" or None, default=None
        Prior counts of each topic's words: a mean per word, spread by the words' frequencies (for ``inference="gibbs"``
        evenly), or one number per word. 0 or ``"maximum-likelihood"``: none. ``"estimate"`` learns mean and spread from
        held-out words: those of ``validation_fraction``, or half of the words of 5% of the documents (20,000 at most),
        which the fit then does not use. None is 0.05 for ``inference="gibbs"``, with more than 50 topics times
        ``(50 / n_topics)**0.4``, and 0.07 otherwise.
    init : {"merged", "nmf", "random", "paper"}, default="merged"
        The initial topics. ``"merged"``: too many topics seeded by k-means++, the most similar ones merged; ``"nmf"``:
        non-negative matrix factorisation from singular vectors; ``"random"``: random topics near the word frequencies;
        ``"paper"``: random tags beside the random topics, as in [1]. Otherwise the tags are flat at first.
    initial : fitted TWDA, TWTM or LDA, or None, default=None
        An earlier model: the fit starts from its topics, which keep their numbers, and their names are carried to the
        topics of the new fit where the counterparts are clear. More topics than it has are found by ``init``.
    burn_in : int or None, default=None
        Sweeps of ``inference="gibbs"`` before the first draw; None is half of ``max_iter``.
    thinning : int, default=10
        Sweeps of ``inference="gibbs"`` from one draw to the next. The parameters are averages over the draws.
    n_draws : int, default=0
        Draws of ``inference="gibbs"`` that are kept in the model, each as large as the parameters. With them, intervals
        include the uncertainty of the topics.
    own_words : bool or None, default=None
        Whether each tag has, beside its topics, a distribution over words of its own, which occur in at least three of
        its documents. None is yes for ``inference="gibbs"``; the other methods have none.
    dtype : {"float32", "float64"}, default="float32"
        ``"float64"`` takes about twice the time.
    learning : {"batch", "online"}, default="batch"
        ``"batch"``: each iteration infers all documents, then updates the parameters. ``"online"``: stochastic
        variational inference [3], which updates them after every mini-batch; an iteration is a pass over all
        documents, and few are needed.
    batch_size : int, default=2048
        Documents per mini-batch of online learning and of ``partial_fit``.
    validation_fraction : float or None, default=None
        Hold out half of the words of this share of the documents. The parameters of the iteration with the lowest
        perplexity of these words are kept. None: the fit uses all words (but see ``topic_word_prior``).
    patience : int, default=10
        With ``validation_fraction``, the fit ends after this many iterations without improvement; ``"gibbs"`` reports
        the perplexity, and neither ends for it nor for ``tol``.
    unknown_tags : {"ignore", "error"}, default="ignore"
        What to do about tags of new documents that were not in training: leave them out with a warning, or raise.
    tag_predictor : bool, default=True
        Whether the model has a tag predictor, which ``predict_tags`` and ``audit_tags`` need. It is fitted when the
        model first uses or saves it, or by ``fit`` if the corpus is in files or on a cluster. Without it, model files
        are smaller; ``fit_tag_predictor`` can add it later.
    n_jobs : int or None, default=None
        Threads; None uses all cores, ``LOKY_MAX_CPU_COUNT`` at most. The result is bit-identical for any number.
    random_state : int, RandomState or None, default=None
        Seed of the initial topics and of samples.
    callbacks : sequence of callables, default=()
        Called after each iteration with its number (from 1), the bound, and the seconds since the start.
    progress : bool or None, default=None
        Whether to draw a progress bar; None does if standard error is a terminal.
    checkpoint : path-like or None, default=None
        A file to which the state of the fit is saved. A fit of the same corpus with the same settings resumes from it,
        and ends with the same bits as one that was not interrupted.
    checkpoint_every : int, default=10
        Iterations between two checkpoints.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics, n_words)
        p(word | topic); rows sum to 1.
    tag_topics_ : ndarray of shape (n_tags, n_topics)
        p(topic | tag), what the tag adds to its documents; rows sum to 1.
    tag_document_topics_ : ndarray of shape (n_tags, n_topics) or (0,)
        The mean topic proportions of the training documents with each tag; empty after a fit on a cluster.
    words_ : tuple of str
        The vocabulary.
    tag_names_ : tuple of str
        The tags.
    rules_ : TextRules or None
        How texts became words; None if the model was fitted to counts.
    n_documents_ : int
        The number of training documents.
    word_counts_ : ndarray of shape (n_words,)
        Occurrences of each word in training.
    tag_frequencies_ : ndarray of shape (n_tags,)
        The share of training documents with each tag.
    tag_sizes_ : ndarray of shape (n_tags,)
        The expected number of training words assigned to each tag.
    topic_shares_ : ndarray of shape (n_topics,)
        The share of training words assigned to each topic.
    tag_weight_prior_ : ndarray of shape (n_tags,)
        Dirichlet prior of the tag weights (pi).
    latent_weight_prior_ : float
        The weight prior of the latent tag that documents without tags get at ``transform``.
    latent_topic_prior_ : ndarray of shape (n_topics,)
        Dirichlet prior of its topics: in proportion to ``topic_shares_``.
    tag_topic_prior_ : ndarray of shape (n_topics,)
        Prior counts of each tag's topics (alpha).
    topic_word_prior_ : ndarray of shape (n_words,)
        Prior counts of each topic's words (beta).
    tag_predictor_ : TagPredictor or None
        The predictor of tags; None without tags, or with ``tag_predictor=False``.
    inference_ : str
        The inference method of the fit.
    n_iter_ : int
        The number of iterations.
    converged_ : bool
        Whether the objective converged within ``max_iter`` iterations.
    interrupted_ : bool
        Whether Ctrl-C ended the fit.
    topic_word_draws_ : ndarray of shape (n_draws, n_topics, n_words) or (0,)
        Draws of ``components_`` from the posterior.
    tag_topic_draws_ : ndarray of shape (n_draws, n_tags, n_topics) or (0,)
        Draws of ``tag_topics_``.
    own_word_tags_ : ndarray of int, of shape (n_pairs,)
        The tag of each pair of a tag and one of its own words, sorted. ``own_words_`` has them as a CSR array.
    own_word_words_ : ndarray of int, of shape (n_pairs,)
        The word of each pair.
    own_word_shares_ : ndarray of shape (n_pairs,)
        The share of the tag's words that are this word as its own.
    own_word_draws_ : ndarray of shape (n_draws, n_pairs) or (0,)
        Draws of ``own_word_shares_``.
    bound_ : ndarray of shape (n_iter,)
        The objective after each iteration; not comparable across prior updates.
    validation_perplexity_ : ndarray of shape (n_iter,) or (0,)
        The perplexity of held-out words after each iteration; empty without ``validation_fraction``.
    prior_updates_ : tuple of int
        The iterations after which priors were updated.
    history_ : dict of str to ndarray
        ``bound_`` and, if there is one, ``validation_perplexity_``.
    best_iteration_ : int
        The iteration whose parameters were kept.
    stopped_early_ : bool
        Whether the fit ended for lack of improvement on held-out words.
    parameters_ : Parameters
        The learnt parameters under the paper's symbols.
    n_features_in_ : int
        The number of words.
    feature_names_in_ : ndarray of str
        The column names, if the model was fitted to a data frame.

    References
    ----------
    - [1] S. Li, J. Li, G. Huang, R. Tan and R. Pan (2015). Tag-Weighted Topic Model For Large-scale Semi-Structured
      Documents. arXiv:1507.08396.
    - [2] A. Asuncion, M. Welling, P. Smyth and Y. W. Teh (2009). On Smoothing and Inference for Topic Models. UAI.
    - [3] M. D. Hoffman, D. M. Blei, C. Wang and J. Paisley (2013). Stochastic Variational Inference. JMLR 14.
    - [4] T. L. Griffiths and M. Steyvers (2004). Finding Scientific Topics. PNAS 101.

    Examples
    --------
    >>> from tagtopic import TWTM, Corpus
    >>> texts = ["a ship flies to a planet", "a monster on the ship", "police hunt a killer", "a killer and the police"]
    >>> tags = [["space"], ["space", "monster"], ["crime"], ["crime", "Fincher"]]
    >>> corpus = Corpus.from_texts(texts * 5, tags * 5)
    >>> model = TWTM(n_topics=2, random_state=0).fit(corpus)
    >>> model.tag_weights(corpus).shape
    (20, 4)
    """

    _latent = False
    latent_weight_prior = 1.0
    latent_topic_prior = None

    def __init__(
        self,
        n_topics: int = 50,
        *,
        inference: str = "auto",
        max_iter: int | None = None,
        tol: float = 1e-5,
        sweeps: int = 2,
        sweep_tol: float = 0.0,
        prior_warm_up: int = 20,
        prior_every: int = 10,
        tag_weight_prior: Prior | None = None,
        tag_topic_prior: Prior = 2.0,
        topic_word_prior: Prior | None = None,
        init: str = "merged",
        initial: TagTopicModel | None = None,
        burn_in: int | None = None,
        thinning: int = 10,
        n_draws: int = 0,
        own_words: bool | None = None,
        dtype: str = "float32",
        learning: str = "batch",
        batch_size: int = 2048,
        validation_fraction: float | None = None,
        patience: int = 10,
        unknown_tags: str = "ignore",
        tag_predictor: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] = (),
        progress: bool | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> None:
        self.n_topics = n_topics
        self.inference = inference
        self.max_iter = max_iter
        self.tol = tol
        self.sweeps = sweeps
        self.sweep_tol = sweep_tol
        self.prior_warm_up = prior_warm_up
        self.prior_every = prior_every
        self.tag_weight_prior = tag_weight_prior
        self.tag_topic_prior = tag_topic_prior
        self.topic_word_prior = topic_word_prior
        self.init = init
        self.initial = initial
        self.burn_in = burn_in
        self.thinning = thinning
        self.n_draws = n_draws
        self.own_words = own_words
        self.dtype = dtype
        self.learning = learning
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.unknown_tags = unknown_tags
        self.tag_predictor = tag_predictor
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.progress = progress
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    @classmethod
    def as_published(cls, n_topics: int = 50, **settings: Any) -> Self:
        """Make a model that is fitted by Algorithm 1 of [1], for comparison with the article.

        The settings are ``inference="paper"``, random topics and tags, pi, theta and psi by
        maximum likelihood, without smoothing and updated in every iteration, and E-steps to convergence. What still
        departs: xi and pi are maximised by other ascents than plain gradient steps (of the same objectives), theta and
        psi have a floor of 1e-10, pi stays within 1e-6 and 1e6. The article does not say when EM ends: at most 100
        iterations, a tolerance of 1e-4 and at most 30 updates per E-step are those of the authors' released code.
        Expect higher perplexity of held-out words than by default (docs/results/paper.md).

        Parameters
        ----------
        n_topics : int, default=50
            The number of topics.
        **settings
            Settings of the estimator, which replace those of the article.

        Returns
        -------
        Self
            An unfitted estimator.

        Examples
        --------
        >>> model = TWTM.as_published(2, random_state=0)
        >>> model.inference, model.tag_weight_prior
        ('paper', 'maximum-likelihood')
        """
        return cls(n_topics, **{**published_settings(latent=cls._latent), **settings})
