"""The topics as a map: areas by share, near topics near, no two on top of each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s

WIDTH, HEIGHT = 1000.0, 620.0
COVERED = 0.42
"""The share of the map that circles cover."""

LARGEST = 0.22 * HEIGHT
"""The largest radius: a model of two topics would not fit otherwise."""

MARGIN, GAP = 12.0, 6.0
STEPS = 400


@dataclass(frozen=True)
class Bubble:
    """One topic on the map: its place and radius, in a box of `WIDTH` by `HEIGHT`."""

    topic: int
    x: float
    y: float
    radius: float


def likeness(components: Any) -> Float64s:
    """How alike topics are: 1 is the same words, 0 is none in common (Bhattacharyya)."""
    roots = np.sqrt(np.asarray(components, np.float32))
    return np.asarray(np.clip(roots @ roots.T, 0.0, 1.0), np.float64)


def topic_map(alike: Float64s, shares: Any) -> tuple[Bubble, ...]:
    """Lay the topics out by how alike they are; the same topics always give the same map."""
    parts = np.maximum(np.asarray(shares, np.float64), 1e-4)
    radii = np.sqrt(parts / parts.sum() * COVERED * WIDTH * HEIGHT / np.pi)
    radii *= min(1.0, LARGEST / float(radii.max()))
    places = _pushed_apart(_scaled(alike), radii)
    return tuple(
        Bubble(k, float(x), float(y), float(r)) for k, ((x, y), r) in enumerate(zip(places, radii, strict=True))
    )


def _scaled(alike: Float64s) -> Float64s:
    """Two coordinates whose distances follow Hellinger distance (classical scaling), in [-1, 1]."""
    n = len(alike)
    if n == 1:
        return np.zeros((1, 2))
    centre = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ (1.0 - alike) @ centre)
    places = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    if places.shape[1] < 2 or n == 2:
        places = np.column_stack([places[:, 0], np.zeros(n)])
    signs = np.where(places[np.abs(places).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)  # eigenvectors have no sign
    # ranks rather than distances along each axis: most topics are about as far from each other, and would pile up
    ranks = np.argsort(np.argsort(places * signs, axis=0, kind="stable"), axis=0) / max(n - 1, 1) * 2 - 1
    spread = places * signs / max(float(np.abs(places).max()), 1e-9)
    return np.asarray(0.5 * ranks + 0.5 * spread)


def _pushed_apart(places: Float64s, radii: Float64s) -> Float64s:
    """Into the box, and circles that overlap moved apart, little by little."""
    box = np.array([WIDTH, HEIGHT])
    points: Float64s = (places * 0.42 + 0.5) * box
    n = len(points)
    if n == 1:
        return points
    least = radii[:, None] + radii[None, :] + GAP
    low, high = radii[:, None] + MARGIN, box - radii[:, None] - MARGIN
    angle = np.arange(n) * 2.399963  # so that topics on one spot know where to go
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
