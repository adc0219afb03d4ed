"""Words of tag names as evidence."""

import numpy as np
import pytest

from tagtopic import TWDA, Corpus
from tagtopic.tagging import tag_names as names
from tagtopic.tagging.tag_names import name_shares, name_words


def test_the_name_is_the_part_after_the_kind() -> None:
    assert name_words("keyword:Serial-Killer (real)") == {"serial", "killer", "real"}
    assert name_words("python") == {"python"}
    assert name_words("debtag:works-with::audio_file") == {"works", "with", "audio", "file"}


def test_words_have_shares_of_a_name_by_idf() -> None:
    idf = np.array([1.0, 3.0, 2.0], np.float32)
    tags = ["k:serial killer", "k:killer whale", "k:end of killer", "k:nobody"]
    table = name_shares(tags, ["serial", "killer", "end"], idf).toarray()
    np.testing.assert_allclose(table[:, 0], [0.25, 0.75, 0])
    np.testing.assert_allclose(table[:, 1], [0, 0.5, 0])  # the unknown whale counts like the rarest word
    np.testing.assert_allclose(table[:, 2], [0, 0.6, 0.4])  # "of" is a function word
    assert not table[:, 3].any()
    assert name_shares([], ["serial"], idf[:1]).shape == (1, 0)


def test_a_rare_tag_is_predicted_by_its_name() -> None:
    random = np.random.default_rng(0)
    things = ["vampire", "robot", "pirate", "ghost", "wizard", "dragon", "zombie", "spy"]
    filler = [f"word{i}" for i in range(60)]
    rows = [random.choice(things) for _ in range(400)]
    texts = [" ".join([*random.choice(filler, 12), thing]) for thing in rows]
    tags = [[f"keyword:{thing}"] if random.random() < 0.9 else [] for thing in rows]
    model = TWDA(4, max_iter=5, random_state=0, progress=False).fit(Corpus.from_texts(texts, tags))
    found = model.predict_tags([f"word1 word2 {thing}" for thing in things], 1)
    assert [tags[0][0] for tags in found] == [f"keyword:{thing}" for thing in things]


def test_shares_do_not_depend_on_the_order_of_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"word{i}" for i in range(40)]
    idf = (10.0 ** np.random.default_rng(0).uniform(-3, 3, 40)).astype(np.float32)
    found = []
    for order in (words, words[::-1], words[5:] + words[:5]):
        monkeypatch.setattr(names, "name_words", lambda _, order=order: list(order))
        found.append(names.name_shares(["a name"], words, idf).toarray())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
