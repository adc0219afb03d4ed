"""A fitted model in a notebook: its HTML, and figures. Each method only says what is asked; ``explore`` draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from tagtopic.notebook import card

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagtopic.inference.arrays import Float64s

SHOWN = 20
"""Topics in the HTML of a model."""


class Pictures:
    """What a notebook shows of a model."""

    if TYPE_CHECKING:
        words_: tuple[str, ...]
        tag_names_: tuple[str, ...]
        topic_shares_: Float64s
        n_iter_: int
        top_words: Callable[..., list[tuple[str, float]]]
        top_tags: Callable[..., list[tuple[str, float]]]

    def plot_topics(self) -> Any:
        """The topics as a map, a plotly figure: areas by share, topics with the same words near each other.

        Examples
        --------
        >>> len(model.plot_topics().data) > 0
        True
        """
        from tagtopic.explore.plots import plot_topics

        return plot_topics(self)

    def plot_tag(self, tag: str, n: int = 15) -> Any:
        """What a tag is about, a plotly figure: its topics, and its n most distinctive words.

        Examples
        --------
        >>> len(model.plot_tag("space").data) > 0
        True
        """
        from tagtopic.explore.plots import plot_tag

        return plot_tag(self, tag, n)

    def plot_document(self, document: Any, *, tags: Any = None) -> Any:
        """A document's topics and the weights of its tags with 90% intervals, a plotly figure.

        ``document`` is what ``explain`` takes: one document of a corpus, or a text with its ``tags`` beside it.

        Examples
        --------
        >>> len(model.plot_document("the ship", tags=["space"]).data) > 0
        True
        """
        from tagtopic.explore.plots import plot_document

        return plot_document(self, document, tags)

    def to_pyldavis(self, X: Any, *, tags: Any = None, **options: Any) -> Any:
        """The model and documents as pyLDAvis prepares them, where it is installed; ``options`` are its own.

        Examples
        --------
        >>> wide = TWDA(4, random_state=0).fit(corpus)
        >>> wide.to_pyldavis(corpus).topic_info.columns[0]  # doctest: +SKIP
        'Term'
        """
        from tagtopic.explore.plots import to_pyldavis

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
            for k in order[:SHOWN]
        ]
        more = f", the {SHOWN} largest topics" if len(order) > SHOWN else ""
        figures = [("topics", f"{len(order):,}"), ("words", f"{len(self.words_):,}")]
        figures += [("tags", f"{len(self.tag_names_):,}"), ("iterations", f"{self.n_iter_:,}")]
        return card(f"{type(self).__name__}{more}", figures, ["topic", "share", "words", "tags"], rows)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def _names(ranked: list[tuple[str, float]], between: str) -> str:
    return between.join(name for name, _ in ranked)
