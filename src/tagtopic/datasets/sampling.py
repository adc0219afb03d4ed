"""Vectorised draws from discrete and Dirichlet distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tagtopic._core.jit import compiled

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]


def log_gamma_draws(rng: np.random.Generator, shape: npt.ArrayLike) -> Floats:
    """Return logarithms of Gamma(shape, 1) draws, which would underflow to 0 for a small shape."""
    shape = np.asarray(shape, dtype=np.float64)
    boosted = np.log(rng.standard_gamma(shape + 1.0))
    return np.asarray(boosted + np.log1p(-rng.random(shape.shape)) / shape)


def dirichlet_rows(rng: np.random.Generator, n_rows: int, concentration: npt.ArrayLike, size: int) -> Floats:
    """Return `n_rows` draws of Dirichlet(concentration) over `size` outcomes."""
    logs = log_gamma_draws(rng, np.broadcast_to(np.asarray(concentration, dtype=np.float64), (n_rows, size)))
    rows = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def ragged_dirichlet(rng: np.random.Generator, concentration: Floats, owner: npt.NDArray[Any], n_rows: int) -> Floats:
    """Return one Dirichlet draw per owner, over its entries."""
    logs = log_gamma_draws(rng, concentration)
    largest = np.full(n_rows, -np.inf)
    np.maximum.at(largest, owner, logs)
    draws = np.exp(logs - largest[owner])
    total = np.bincount(owner, weights=draws, minlength=n_rows)
    return np.asarray(draws / total[owner])


def zipf(size: int, exponent: float) -> Floats:
    """Return Zipf-Mandelbrot frequencies, descending; uniform with exponent 0."""
    frequency = (np.arange(size) + 2.7) ** -exponent
    return np.asarray(frequency / frequency.sum())


@compiled
def alias_tables(probabilities: Floats) -> tuple[Floats, Integers]:
    """Return Walker's alias tables of every row, by Vose's method: a draw costs two look-ups at any vocabulary size."""
    n_rows, size = probabilities.shape
    keep = np.ones((n_rows, size))
    alias = np.zeros((n_rows, size), dtype=np.int32)
    small = np.empty(size, dtype=np.int32)
    large = np.empty(size, dtype=np.int32)
    for row in range(n_rows):
        share = probabilities[row] * (size / probabilities[row].sum())
        n_small = n_large = 0
        for i in range(size):
            if share[i] < 1.0:
                small[n_small] = i
                n_small += 1
            else:
                large[n_large] = i
                n_large += 1
        while n_small and n_large:
            n_small -= 1
            low, high = small[n_small], large[n_large - 1]
            keep[row, low] = share[low]
            alias[row, low] = high
            share[high] -= 1.0 - share[low]
            if share[high] < 1.0:
                n_large -= 1
                small[n_small] = high
                n_small += 1
    return keep, alias


@compiled
def draw_tokens(
    rng: np.random.Generator, document_topics: Floats, lengths: npt.NDArray[np.int64], keep: Floats, alias: Integers
) -> Integers:
    """Draw the topic of each token from its document's distribution, then its word from the topic's alias table."""
    n_topics, n_words = keep.shape
    words = np.empty(lengths.sum(), dtype=np.int32)
    token = 0
    for document in range(lengths.size):
        cumulative = np.cumsum(document_topics[document])
        for _ in range(lengths[document]):
            topic = min(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"), n_topics - 1)
            place = rng.random() * n_words
            word = min(int(place), n_words - 1)
            words[token] = word if place - word < keep[topic, word] else alias[topic, word]
            token += 1
    return words


@compiled
def draw_distinct(rng: np.random.Generator, sizes: npt.NDArray[np.int64], popularity: Floats) -> Integers:
    """Draw for each row distinct items, as many as its size, with probabilities by popularity.

    A repeated item is drawn again; after many attempts (in a row of nearly all items) the next free one is taken.
    """
    cumulative = np.cumsum(popularity)
    n_items = cumulative.size
    items = np.empty(sizes.sum(), dtype=np.int32)
    taken = np.full(n_items, -1, dtype=np.int64)
    slot = 0
    for row in range(sizes.size):
        for _ in range(sizes[row]):
            attempts = 0
            item = 0
            while attempts == 0 or taken[item] == row:
                if attempts < 100:
                    drawn = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
                    item = min(drawn, n_items - 1)
                else:
                    item = (item + 1) % n_items
                attempts += 1
            taken[item] = row
            items[slot] = item
            slot += 1
    return items
