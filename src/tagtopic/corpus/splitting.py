"""Which documents go to the test part."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def test_mask(
    n_documents: int,
    test_size: float | int,
    random_state: "int | np.random.Generator | None",
    groups: ArrayLike | None,
) -> NDArray[np.bool_]:
    """True for the documents of the test part; both parts have at least one document."""
    wanted = _wanted(n_documents, test_size)
    random = np.random.default_rng(random_state)
    if groups is None:
        mask = np.zeros(n_documents, dtype=bool)
        mask[random.permutation(n_documents)[:wanted]] = True
        return mask
    labels = np.asarray(groups)
    if labels.shape != (n_documents,):
        raise ValueError(f"groups must have one label for each of the {n_documents} documents, not {labels.shape}")
    _, group, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        raise ValueError("all documents are in one group: it cannot be split without breaking the group")
    order = random.permutation(len(sizes))
    filled = np.cumsum(sizes[order])[:-1]  # one group at least stays for training
    n_groups = int(np.argmin(np.abs(filled - wanted))) + 1
    return np.isin(group, order[:n_groups])


def _wanted(n_documents: int, test_size: float | int) -> int:
    if n_documents < 2:
        raise ValueError(f"a corpus of {n_documents} documents cannot be split in two")
    if isinstance(test_size, int | np.integer) and not isinstance(test_size, bool):
        wanted = int(test_size)
        if not 0 < wanted < n_documents:
            raise ValueError(f"test_size={test_size} must leave documents in both parts of {n_documents}")
        return wanted
    if not 0 < test_size < 1:
        raise ValueError(f"test_size={test_size} must be a share between 0 and 1, or a number of documents")
    return min(max(round(n_documents * test_size), 1), n_documents - 1)
