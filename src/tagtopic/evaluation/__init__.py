"""Measures of models: perplexity, the quality of topics, and the quality of tag rankings."""

from tagtopic.evaluation.coherence import Coherence, coherence, diversity, exclusivity
from tagtopic.evaluation.perplexity import Perplexity, perplexity
from tagtopic.evaluation.ranking import TagRanks, rank_lists, rank_scores

__all__ = [
    "Coherence",
    "Perplexity",
    "TagRanks",
    "coherence",
    "diversity",
    "exclusivity",
    "perplexity",
    "rank_lists",
    "rank_scores",
]
