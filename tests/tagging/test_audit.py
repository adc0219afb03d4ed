"""The audit finds tags that were assigned to documents at random."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from tagtopic import TWDA, Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.tagging import TagReport

PLANTED = make_tagged_corpus(900, 16, 40, 600, tags_per_document=(1, 2), tag_concentration=0.03, random_state=2).corpus
TRAIN, TEST = PLANTED.split(0.3, random_state=0)


def with_noise(corpus: Corpus) -> tuple[Corpus, set[tuple[str, str]]]:
    """Return the corpus with one more random tag per document, and the entries that were added."""
    drawn = np.random.default_rng(0).integers(corpus.n_tags, size=len(corpus))
    added = sp.csr_array((np.ones(len(corpus), np.int8), (np.arange(len(corpus)), drawn)), shape=corpus.tags.shape)
    both = sp.csr_array(corpus.tags + added)
    noise = {
        (corpus.ids[i], corpus.tag_names[drawn[i]])
        for i in range(len(corpus))
        if corpus.tag_names[drawn[i]] not in corpus[i].tags
    }
    tags = (both > 0).astype(np.int8)
    return Corpus.from_counts(
        corpus.counts, tags, words=corpus.words, tag_names=corpus.tag_names, ids=corpus.ids
    ), noise


@pytest.fixture(scope="module")
def model() -> TWDA:
    return TWDA(16, random_state=0, max_iter=30, progress=False).fit(TRAIN)


@pytest.fixture(scope="module")
def audited(model: TWDA) -> tuple[TagReport, set[tuple[str, str]]]:
    corpus, noise = with_noise(TEST)
    return model.audit_tags(corpus), noise


def test_random_tags_are_the_least_plausible_and_the_most_suspicious(
    audited: tuple[TagReport, set[tuple[str, str]]],
) -> None:
    report, noise = audited
    is_noise = [(entry.document, entry.tag) in noise for entry in report.entries]
    assert roc_auc_score(is_noise, [-entry.plausibility for entry in report.entries]) > 0.85
    least_plausible = report.select(order="random").entries[:50]
    assert np.mean([(entry.document, entry.tag) in noise for entry in least_plausible]) > 0.85
    assert np.mean(is_noise[:50]) > 0.75  # siblings are looked for as well, and none was added
    for order, column, sign in (
        ("both", "suspicion", -1),
        ("random", "plausibility", 1),
        ("sibling", "wrong_sibling", -1),
    ):
        values = sign * report.select(order=order).entries.column(column)
        assert (np.diff(values) >= 0).all(), order


def test_p_values_of_random_tags_are_uniform_or_conservative(
    audited: tuple[TagReport, set[tuple[str, str]]],
) -> None:
    report, noise = audited
    by_chance = [entry.p_value for entry in report.entries if (entry.document, entry.tag) in noise]
    for level in (0.1, 0.25, 0.5):
        share = np.mean(np.array(by_chance) <= level)  # they come from noisier documents than these
        assert level / 2 - 0.02 < share < level + 0.1


def test_implausible_tags_have_low_weights_and_list_words(
    audited: tuple[TagReport, set[tuple[str, str]]],
) -> None:
    report, _ = audited
    worst = report.entries[:50]
    assert np.mean([entry.weight < entry.expected_weight for entry in worst]) > 0.8
    assert all(entry.disagreeing for entry in worst)
    assert sum(kind.share for kind in report.kinds) + report.latent_share == pytest.approx(1, abs=1e-4)
    assert {tag.tag for tag in report.tags} == {entry.tag for entry in report.entries}


def test_training_documents_are_scored_like_new_ones(model: TWDA) -> None:
    def mean_of_right_tags(corpus: Corpus) -> float:
        noisy, noise = with_noise(corpus)
        entries = model.audit_tags(noisy).entries
        return float(np.mean([entry.plausibility for entry in entries if (entry.document, entry.tag) not in noise]))

    assert mean_of_right_tags(TRAIN) == pytest.approx(mean_of_right_tags(TEST), abs=0.04)


def test_a_document_without_known_words_is_judged_by_no_evidence(model: TWDA) -> None:
    nothing = sp.csr_array(TEST.counts.shape, dtype=TEST.counts.dtype)
    unread = model.audit_tags(TEST.with_matrices(counts=nothing)).entries
    np.testing.assert_allclose(unread.column("plausibility"), 0.5)
    assert unread.column("suspicion").max() < 0.5 < 1 - model.audit_tags(TEST).entries.column("plausibility").min()


def test_an_audit_has_the_same_bits_in_any_thread(model: TWDA) -> None:
    here = model.audit_tags(TEST)
    with ThreadPoolExecutor(4) as pool:
        others = list(pool.map(lambda _: model.audit_tags(TEST), range(4)))
    for there in others:
        for name in ("plausibility", "p_value", "weight"):
            np.testing.assert_array_equal(there.entries.column(name), here.entries.column(name))


def test_a_noise_tag_is_among_the_least_plausible() -> None:
    random = np.random.default_rng(1)
    tags = [[*document.tags, *(["noise"] if random.random() < 0.1 else [])] for document in TRAIN]
    corpus = Corpus.from_counts(TRAIN.counts, tags, words=TRAIN.words, ids=TRAIN.ids)
    report = TWDA(16, random_state=0, max_iter=15, progress=False).fit(corpus).audit_tags(corpus)
    places = [tag.tag for tag in report.tags]
    assert places.index("noise") < 4


def test_documents_without_tags_cannot_be_audited(model: TWDA) -> None:
    with pytest.raises(ValueError, match="nothing to audit"):
        model.audit_tags(TEST.counts)


def plausibilities(model: TWDA, corpus: Corpus, document: str) -> dict[str, float]:
    return {entry.tag: entry.plausibility for entry in model.audit_tags(corpus).entries if entry.document == document}


def test_a_document_is_left_out_of_its_own_score_though_another_has_its_words() -> None:
    wrong = next(tag for tag in TRAIN.tag_names if tag not in TRAIN[0].tags)
    found = []
    for first in (1, 0):  # without the document whose copy is the last, and with it
        rows = [*range(first, len(TRAIN)), 0]
        tags = [*(TRAIN[i].tags for i in rows[:-1]), [*TRAIN[0].tags, wrong, "its own"]]
        ids = [*map(str, rows[:-1]), "the copy"]
        corpus = Corpus.from_counts(TRAIN.counts[rows], tags, words=TRAIN.words, ids=ids)
        copied = TWDA(16, random_state=0, max_iter=10, progress=False).fit(corpus)
        found.append(plausibilities(copied, corpus, "the copy"))
    assert found[1]["its own"] == found[0]["its own"] == 0.5
    assert found[1][wrong] < 0.5


def test_training_documents_are_recognised_though_words_of_them_were_held_out() -> None:
    tags = [[*document.tags, f"only {i}"] for i, document in enumerate(TRAIN)]
    corpus = Corpus.from_counts(TRAIN.counts, tags, words=TRAIN.words)
    fitted = TWDA(8, random_state=0, max_iter=3, validation_fraction=0.5, progress=False).fit(corpus)
    report = fitted.audit_tags(corpus)
    assert {entry.plausibility for entry in report.entries if entry.tag.startswith("only ")} == {0.5}
