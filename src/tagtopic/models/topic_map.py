"""A map of the topics: circles with areas by share, similar topics near each other, without overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s

WIDTH, HEIGHT = 1000.0, 620.0
COVERAGE = 0.42
"""The share of the map's area that circles cover."""

MAX_RADIUS = 0.22 * HEIGHT
"""The largest radius: two topics would not fit otherwise."""

MARGIN, GAP = 12.0, 6.0
STEPS = 400


@dataclass(frozen=True)
class TopicCircle:
    """One topic on the map: centre and radius, in a box of ``WIDTH`` by ``HEIGHT``."""

    topic: int
    x: float
    y: float
    radius: float


def topic_similarity(components: Any) -> Float64s:
    """(topics, topics): Bhattacharyya coefficients, 1 for the same word distribution and 0 for no common word."""
    roots = np.sqrt(np.asarray(components, np.float32))
    return np.asarray(np.clip(roots @ roots.T, 0.0, 1.0), np.float64)


def topic_map(similarity: Float64s, shares: Any) -> tuple[TopicCircle, ...]:
    """Place the topics by their similarity; the layout is deterministic."""
    parts = np.maximum(np.asarray(shares, np.float64), 1e-4)
    radii = np.sqrt(parts / parts.sum() * COVERAGE * WIDTH * HEIGHT / np.pi)
    radii *= min(1.0, MAX_RADIUS / float(radii.max()))
    places = _without_overlap(_scaled(similarity), radii)
    return tuple(
        TopicCircle(k, float(x), float(y), float(r)) for k, ((x, y), r) in enumerate(zip(places, radii, strict=True))
    )


def _scaled(similarity: Float64s) -> Float64s:
    """Two coordinates whose distances follow Hellinger distance (classical scaling), in [-1, 1]."""
    n = len(similarity)
    if n == 1:
        return np.zeros((1, 2))
    centre = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ (1.0 - similarity) @ centre)
    places = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    if places.shape[1] < 2 or n == 2:
        places = np.column_stack([places[:, 0], np.zeros(n)])
    signs = np.where(places[np.abs(places).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)  # eigenvectors have no sign
    # half ranks, half distances: most topics are about equally far apart, and would pile up
    ranks = np.argsort(np.argsort(places * signs, axis=0, kind="stable"), axis=0) / max(n - 1, 1) * 2 - 1
    spread = places * signs / max(float(np.abs(places).max()), 1e-9)
    return np.asarray(0.5 * ranks + 0.5 * spread)


def _without_overlap(places: Float64s, radii: Float64s) -> Float64s:
    """Move overlapping circles apart within the box, in small steps."""
    box = np.array([WIDTH, HEIGHT])
    points: Float64s = (places * 0.42 + 0.5) * box
    n = len(points)
    if n == 1:
        return points
    least = radii[:, None] + radii[None, :] + GAP
    low, high = radii[:, None] + MARGIN, box - radii[:, None] - MARGIN
    angle = np.arange(n) * 2.399963  # separates topics at the same position
    points = points + 0.01 * np.column_stack([np.cos(angle), np.sin(angle)])
    for _ in range(STEPS):
        points = np.clip(points, np.minimum(low, box / 2), np.maximum(high, box / 2))
        apart = points[:, None] - points[None, :]
        distance = np.sqrt((apart**2).sum(axis=2)) + np.eye(n) * 1e9
        overlap = np.maximum(least - distance, 0.0)
        if overlap.max() < 0.5:
            break
        points = points + 0.25 * (apart / distance[:, :, None] * overlap[:, :, None]).sum(axis=1)
    return np.asarray(np.clip(points, np.minimum(low, box / 2), np.maximum(high, box / 2)))
