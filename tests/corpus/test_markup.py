"""Markup of texts from the web, and stems."""

import random
import re
import unicodedata

import numpy as np
import pytest

from tagtopic import TWDA, Corpus
from tagtopic.corpus import TextRules
from tagtopic.corpus.text import markup
from tagtopic.corpus.text.markup import may_have_markup, strip_markup
from tagtopic.corpus.text.tokenizer import tokenize

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


PIECES = (
    "http://", "HTTPS://", "http\u017f://", "fooftp://", "://", "a.b", "/", "www.", "WwW.x", "mailto:", "MailTo:q",
    "ma\u0130lto:x", "<b>", "<\u0338b>", "<", "&amp;", "&", "](", "]", "(x)", "_", "\u00ad", "\ufb01ne", "e\u0301",
    "\uff21", "\ud800", '"', "\n", "word", " ", " ", " ",
)  # fmt: skip


def texts_of_pieces(n: int) -> list[str]:
    choose = random.Random(0)
    return ["".join(choose.choices(PIECES, k=choose.randrange(12))) for _ in range(n)]


@pytest.mark.parametrize("form", ["NFKC", None])
def test_every_text_with_markup_is_found(form: str | None) -> None:
    texts = texts_of_pieces(5000)
    encoded = [(unicodedata.normalize("NFKC", text) if form else text).encode(errors="replace") for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)])
    found = may_have_markup(np.frombuffer(b"".join(encoded), np.uint8), offsets)
    missed = [text for text, is_found in zip(texts, found, strict=True) if not is_found and strip_markup(text) != text]
    assert not missed
    assert not found.all()


def test_urls_with_a_scheme_are_those_of_the_pattern() -> None:
    for text in texts_of_pieces(5000):
        if not re.search(r"www\.|m[ai\u0130]+lto:", text, re.IGNORECASE):
            assert markup._without_schemes(text) == markup._URL.sub(markup._blank, text)


def test_words_do_not_depend_on_the_size_of_the_batch() -> None:
    texts = texts_of_pieces(5000)  # more than a batch that no kernel searches
    together = tokenize(texts, TextRules())
    words = list(together.words)
    for i in range(0, 5000, 50):
        numbers = together.ids[together.offsets[i] : together.offsets[i + 1]]
        assert [words[number] for number in numbers] == TextRules().tokens(texts[i])


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
