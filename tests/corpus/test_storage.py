import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic import TWDA
from tagtopic.corpus import Corpus, TagRules, storage


@pytest.fixture
def corpus() -> Corpus:
    return Corpus.from_counts([[2, 0, 1], [0, 0, 0], [0, 3, 0]], [["é:ü", "b"], [], ["b"]], ids=["x", "", "日"])


def is_mapped(array: Any) -> bool:
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def test_a_saved_corpus_is_opened_unchanged_and_memory_mapped(corpus: Corpus, tmp_path: Path) -> None:
    corpus.save(tmp_path / "c")
    opened = Corpus.open(str(tmp_path / "c"))
    assert opened.fingerprint() == corpus.fingerprint()
    assert is_mapped(opened[1:].counts.data)
    assert is_mapped(opened[1:].ids.data)
    assert not opened.counts.data.flags.writeable
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 0)])
def test_empty_corpora_can_be_saved(shape: tuple[int, int], tmp_path: Path) -> None:
    empty = Corpus.from_counts(np.zeros(shape))
    empty.save(tmp_path / "c")
    assert Corpus.open(tmp_path / "c").fingerprint() == empty.fingerprint()


def test_an_older_corpus_is_replaced_even_by_its_own_slice(corpus: Corpus, tmp_path: Path) -> None:
    corpus.save(tmp_path / "c")
    part = Corpus.open(tmp_path / "c")[:2]
    part.save(tmp_path / "c")
    assert Corpus.open(tmp_path / "c").fingerprint() == corpus[:2].fingerprint() == part.fingerprint()
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_other_files_and_folders_are_not_replaced(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis").write_text("mine")
    for name in ("file", "folder"):
        with pytest.raises(FileExistsError, match="choose another name"):
            corpus.save(tmp_path / name)
    assert (tmp_path / "folder" / "thesis").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


def test_an_interrupted_save_leaves_nothing(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(storage, "write_names", interrupt)
    with pytest.raises(KeyboardInterrupt):
        corpus.save(tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [f"{array}.npy" for array in storage.ARRAYS])
@pytest.mark.parametrize("damage", ["truncated", "gone", "foreign", "empty", "other type"])
def test_a_damaged_array_is_an_error_that_names_it(corpus: Corpus, tmp_path: Path, name: str, damage: str) -> None:
    corpus.save(tmp_path / "c")
    file = tmp_path / "c" / name
    if damage == "truncated":
        file.write_bytes(file.read_bytes()[:-1])
    elif damage == "gone":
        file.unlink()
    elif damage == "other type":
        np.save(file, np.load(file).astype(float))
    else:
        file.write_bytes(b"not an array" if damage == "foreign" else b"")
    with pytest.raises(ValueError, match=f"damaged: .*{name}"):
        Corpus.open(tmp_path / "c")


@pytest.mark.parametrize("name", ["words.json", "tags.json", "corpus.json"])
@pytest.mark.parametrize("content", [None, "", "{", "3", "[1]", "{}"])
def test_a_damaged_json_file_is_an_error_that_names_it(
    corpus: Corpus, tmp_path: Path, name: str, content: str | None
) -> None:
    corpus.save(tmp_path / "c")
    if content is None:
        (tmp_path / "c" / name).unlink()
    else:
        (tmp_path / "c" / name).write_text(content)
    with pytest.raises(ValueError, match=name):
        Corpus.open(tmp_path / "c")


def test_offsets_that_do_not_fit_are_an_error(corpus: Corpus, tmp_path: Path) -> None:
    corpus.save(tmp_path / "c")
    file = tmp_path / "c" / "counts.indptr.npy"
    np.save(file, np.load(file) + 1)
    with pytest.raises(ValueError, match="does not fit"):
        Corpus.open(tmp_path / "c")


@pytest.mark.parametrize("name", ["counts.indptr", "tags.indptr", "ids.offsets"])
@pytest.mark.parametrize("wrong", [2**40, -1, 2**63 - 1, -(2**63)])
def test_a_decreasing_offset_is_an_error(corpus: Corpus, tmp_path: Path, name: str, wrong: int) -> None:
    corpus.save(tmp_path / "c")
    file = tmp_path / "c" / f"{name}.npy"
    offsets = np.load(file)
    offsets[1] = wrong
    np.save(file, offsets)
    with pytest.raises(ValueError, match=rf"damaged: {name}\.npy does not fit"):
        Corpus.open(tmp_path / "c")


@pytest.mark.parametrize("wrong", [2_000_000_000, -1, 3])
def test_an_entry_outside_the_vocabulary_is_an_error(corpus: Corpus, tmp_path: Path, wrong: int) -> None:
    corpus.save(tmp_path / "c")
    for name in ("counts", "tags"):
        file = tmp_path / "c" / f"{name}.indices.npy"
        columns = np.load(file)
        columns[1] = wrong
        np.save(file, columns)
    opened = Corpus.open(tmp_path / "c")
    with pytest.raises(ValueError, match=rf"c is damaged: counts\.indices\.npy has an entry in column {wrong}"):
        opened.word_counts()
    for asked in (opened.tag_sizes, lambda: opened.select_tags(TagRules())):
        with pytest.raises(ValueError, match=rf"c is damaged: tags\.indices\.npy has an entry in column {wrong}"):
            asked()


def test_fractional_counts_are_kept(tmp_path: Path) -> None:
    corpus = Corpus.from_counts([[0.5, 1], [1, 2]], fractional=True)
    corpus.save(tmp_path / "c")
    opened = Corpus.open(tmp_path / "c")
    assert opened.counts.dtype == np.float32
    assert opened.counts.toarray().tolist() == [[0.5, 1], [1, 2]]
    assert opened.fingerprint() == corpus.fingerprint()


@pytest.mark.parametrize(
    ("change", "message"),
    [({"version": 99}, "upgrade it"), ({"format": "other"}, "not a corpus folder"), ({"n_words": "3"}, "damaged")],
)
def test_newer_formats_and_foreign_folders_have_different_errors(
    corpus: Corpus, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    corpus.save(tmp_path / "c")
    marker = tmp_path / "c" / "corpus.json"
    marker.write_text(json.dumps(json.loads(marker.read_text()) | change))
    with pytest.raises(ValueError, match=message):
        Corpus.open(tmp_path / "c")


def test_paths_without_a_corpus_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no corpus at"):
        Corpus.open(tmp_path / "none")
    with pytest.raises(ValueError, match=r"no corpus\.json"):
        Corpus.open(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="a file, not a corpus folder"):
        Corpus.open(tmp_path / "file")


def test_a_corpus_whose_replacement_was_killed_is_still_opened(corpus: Corpus, tmp_path: Path) -> None:
    corpus.save(tmp_path / "c")
    (tmp_path / "c").rename(tmp_path / f".c.{'0' * 32}.old")
    (tmp_path / f".c.{'0' * 32}.part").mkdir()
    assert Corpus.open(tmp_path / "c").fingerprint() == corpus.fingerprint()
    corpus.save(tmp_path / "c")
    assert list(tmp_path.iterdir()) == [tmp_path / "c"]


def test_an_id_that_is_not_utf8_is_an_error_that_names_the_file(corpus: Corpus, tmp_path: Path) -> None:
    corpus.save(tmp_path / "c")
    file = tmp_path / "c" / "ids.bytes.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    ids = Corpus.open(tmp_path / "c").ids
    for read in (lambda: list(ids), lambda: ids[-1]):
        with pytest.raises(ValueError, match=r"name 2 is not valid UTF-8 of .*ids\.bytes\.npy, which is damaged: make"):
            read()


def test_a_negative_count_in_a_file_is_refused_by_every_question(tmp_path: Path) -> None:
    counts, tags = np.eye(4, dtype=int) + 1, [["a"], ["b"]] * 2
    model = TWDA(2, max_iter=2, random_state=0).fit(counts, tags=tags)
    Corpus.from_counts(counts, tags).save(tmp_path / "c")
    file = tmp_path / "c" / "counts.data.npy"
    file.write_bytes(file.read_bytes()[:-4] + np.int32(-5).tobytes())
    for question in ("transform", "predict_tags", "perplexity", "rank_tags", "audit_tags", "fit"):
        with pytest.raises(ValueError, match=r"c is damaged: in counts, row 3 has the value -5"):
            getattr(model, question)(Corpus.open(tmp_path / "c"))
