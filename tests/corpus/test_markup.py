"""Markup of texts from the web, and stems."""

import pytest

from tagtopic import TWDA, Corpus
from tagtopic.corpus import TextRules
from tagtopic.corpus.text.markup import strip_markup

PAGE = (
    'See <p class="lead">our [paper here](https://x.org/a_(b).pdf "title") at https://github.com/code/y.git, '
    "caf&eacute;s &amp; www.example.com/link</p> <!-- hidden --><script>var code = 1</script> ![alt text](images/png)"
)


def test_markup_is_left_out_and_its_texts_stay() -> None:
    assert TextRules().tokens(PAGE) == ["see", "our", "paper", "here", "at", "cafés", "alt", "text"]
    assert {"https", "github", "com", "png", "class", "hidden", "eacute"} <= set(TextRules(markup="keep").tokens(PAGE))


@pytest.mark.parametrize(
    "text",
    ["a < b and c > d", "std::vector<String> x", "R&D; AT&T", "note: 12:30", "[1] (see)", "wwwhat", "x <b and c> y"],
)
def test_texts_without_markup_are_unchanged(text: str) -> None:
    assert strip_markup(text) is text or strip_markup(text) == text


def test_positions_stay_where_they_were() -> None:
    stripped = strip_markup(PAGE)
    assert len(stripped) == len(PAGE)
    assert stripped.index("paper here") == PAGE.index("paper here")


def test_rules_of_earlier_files_keep_markup() -> None:
    values = TextRules().to_json()
    del values["markup"], values["stem"]
    assert TextRules.from_json(values).markup == "keep"
    assert TextRules.from_json(TextRules().to_json()).markup == "strip"
    with pytest.raises(ValueError, match="markup='some' must be one of 'strip', 'keep'"):
        TextRules(markup="some")


def test_forms_of_a_word_become_one_stem_and_stop_words_stay() -> None:
    pytest.importorskip("snowballstemmer")
    texts = ["the computers are computing", "having computed it", "a computer"]
    corpus = Corpus.from_texts(texts, stem="en", stop_words="en", min_df=1)
    assert corpus.words == ("comput",)
    assert corpus.lengths().tolist() == [2, 1, 1]
    with pytest.raises(ValueError, match="there is no stemmer for the language 'klingon'"):
        Corpus.from_texts(texts, stem="klingon")
    with pytest.raises(ValueError, match="stem is for the words of the usual tokenizer"):
        TextRules(stem="en", tokenizer=str.split)


def test_new_texts_are_read_by_the_rules_of_the_model() -> None:
    pytest.importorskip("snowballstemmer")
    corpus = Corpus.from_texts(["computers compute https://x.org/ship", "ships sail <b>far</b>"] * 3, stem="en")
    model = TWDA(2, max_iter=2, random_state=0).fit(corpus)
    assert model.words_ == ("comput", "far", "sail", "ship")
    assert model.aligned(["a computing https://y.org/far ship"]).lengths().tolist() == [2]
