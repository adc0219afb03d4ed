"""Latent Dirichlet Allocation."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from tagtopic.models._base import TagTopicModel
from tagtopic.models._batch import Callback
from tagtopic.models._settings import Prior


class LDA(TagTopicModel):
    """Latent Dirichlet Allocation: TWDA without tags.

    A document's topic proportions are those of its latent tag alone; tags are ignored [1].

    Parameters
    ----------
    n_topics : int, default=50
        The number of topics.
    inference : {"auto", "gibbs", "cvb0", "map", "mixture", "paper"}, default="auto"
        The inference method. ``"gibbs"``: collapsed Gibbs sampling [5], averaged over draws, which has the lowest
        perplexity of held-out words. It takes whole counts and fixed priors. ``"cvb0"``: collapsed variational Bayes
        with leave-one-out counts [2], a point estimate. ``"map"``: EM for the mode of a penalised likelihood.
        ``"mixture"``: mean-field variational Bayes, with a bound on the likelihood no looser than the paper's.
        ``"paper"``: variational Bayes as in [4].
        ``"auto"``: ``"map"`` for fewer than 10,000 words in all; otherwise ``"gibbs"`` where it can run, and ``"cvb0"``
        elsewhere, as for online learning. ``inference_`` is the one that was chosen.
    max_iter : int or None, default=None
        The largest number of EM iterations, or of passes over the documents for online learning; of ``"gibbs"``, the
        number of sweeps. None is 400 for ``"gibbs"``, and 200 otherwise.
    tol : float, default=1e-5
        The fit has converged when an iteration changes the objective by at most this share of it.
    sweeps : int, default=2
        Updates of each document's posterior per E-step.
    latent_topic_prior : float, array of shape (n_topics,), "estimate", "maximum-likelihood" or None, default=None
        Dirichlet prior of a document's topics; None is 3 / ``n_topics``, at most 0.1, for each topic,
        which ``inference="gibbs"`` spreads by the topics' shares during burn-in, so that this is the mean.
    topic_word_prior : float, array of shape (n_words,), "estimate", "maximum-likelihood" or None, default=None
        Prior counts of each topic's words: a mean per word, spread by the words' frequencies (for ``inference="gibbs"``
        evenly), or one number per word. 0 or ``"maximum-likelihood"``: none. ``"estimate"`` learns mean and spread from
        held-out words: those of ``validation_fraction``, or half of the words of 5% of the documents (20,000 at most),
        which the fit then does not use. None is 0.05 for ``inference="gibbs"``, with more than 50 topics times
        ``(50 / n_topics)**0.4``, and 0.07 otherwise.
    init : {"merged", "nmf", "random", "paper"}, default="merged"
        The initial topics. ``"merged"``: too many topics seeded by k-means++, the most similar ones merged; ``"nmf"``:
        non-negative matrix factorisation from singular vectors; ``"random"`` and
        ``"paper"``: random topics near the word frequencies.
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
    tag_topics_ : ndarray of shape (0, n_topics)
        Empty, as are the other attributes of tags.
    words_ : tuple of str
        The vocabulary.
    tag_names_ : tuple
        Empty.
    rules_ : TextRules or None
        How texts became words; None if the model was fitted to counts.
    n_documents_ : int
        The number of training documents.
    word_counts_ : ndarray of shape (n_words,)
        Occurrences of each word in training.
    topic_shares_ : ndarray of shape (n_topics,)
        The share of training words assigned to each topic.
    latent_weight_prior_ : float
        The latent tag's weight prior, without effect where there are no other tags.
    latent_topic_prior_ : ndarray of shape (n_topics,)
        Dirichlet prior of a document's topics.
    topic_word_prior_ : ndarray of shape (n_words,)
        Prior counts of each topic's words (beta).
    tag_predictor_ : None
        There are no tags to predict.
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
    - [1] D. M. Blei, A. Y. Ng and M. I. Jordan (2003). Latent Dirichlet Allocation. JMLR 3.
    - [2] A. Asuncion, M. Welling, P. Smyth and Y. W. Teh (2009). On Smoothing and Inference for Topic Models. UAI.
    - [3] M. D. Hoffman, D. M. Blei, C. Wang and J. Paisley (2013). Stochastic Variational Inference. JMLR 14.
    - [4] S. Li, J. Li, G. Huang, R. Tan and R. Pan (2015). Tag-Weighted Topic Model For Large-scale Semi-Structured
      Documents. arXiv:1507.08396.
    - [5] T. L. Griffiths and M. Steyvers (2004). Finding Scientific Topics. PNAS 101.

    Examples
    --------
    >>> from tagtopic import LDA
    >>> texts = ["a ship flies to a planet", "a monster on the ship", "police hunt a killer", "a killer and the police"]
    >>> model = LDA(n_topics=2, random_state=0).fit(texts * 5)
    >>> model.transform(["a ship"]).shape
    (1, 2)
    """

    _latent = True
    _uses_tags = False
    tag_weight_prior = 1.0
    own_words = None
    latent_weight_prior = 1.0
    tag_topic_prior = 0.0
    unknown_tags = "ignore"
    tag_predictor = False

    def __init__(
        self,
        n_topics: int = 50,
        *,
        inference: str = "auto",
        max_iter: int | None = None,
        tol: float = 1e-5,
        sweeps: int = 2,
        latent_topic_prior: Prior | None = None,
        topic_word_prior: Prior | None = None,
        init: str = "merged",
        initial: TagTopicModel | None = None,
        burn_in: int | None = None,
        thinning: int = 10,
        n_draws: int = 0,
        dtype: str = "float32",
        learning: str = "batch",
        batch_size: int = 2048,
        validation_fraction: float | None = None,
        patience: int = 10,
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
        self.latent_topic_prior = latent_topic_prior
        self.topic_word_prior = topic_word_prior
        self.init = init
        self.initial = initial
        self.burn_in = burn_in
        self.thinning = thinning
        self.n_draws = n_draws
        self.dtype = dtype
        self.learning = learning
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.progress = progress
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
