"""Search for the number of topics: the planted number is recommended, and an interrupted search resumes."""

from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tagtopic import LDA, TWDA, Corpus, search_topics
from tagtopic.datasets import make_tagged_corpus
from tagtopic.evaluation import Coherence
from tagtopic.models import topic_search as module
from tagtopic.models._base import TagTopicModel
from tagtopic.models.topic_search import TopicCount, TopicSearch

CORPUS = make_tagged_corpus(300, 5, 12, 150, random_state=2).corpus
QUICK = TWDA(max_iter=15, random_state=0)


def result(topics: int, value: float) -> TopicCount:
    return TopicCount(topics, value, None, 0.5, 0.5, 10, 1.0)


def test_the_planted_number_is_recommended() -> None:
    found = search_topics(CORPUS, [10, 1, 5], model=QUICK, coherence=False)
    assert [c.topics for c in found.results] == [1, 5, 10]
    assert found.recommended == 5
    assert found.results[0].perplexity > 1.2 * found.results[1].perplexity


def test_the_measures_are_those_of_the_models() -> None:
    found = search_topics(CORPUS, [3], model=LDA(max_iter=5, random_state=0), random_state=1)
    train, test = CORPUS.split(0.2, 1)
    model = LDA(3, max_iter=5, random_state=0).fit(train)
    assert found.results[0].perplexity == pytest.approx(model.perplexity(test, random_state=1))
    assert found.results[0].iterations == 5
    assert found.results[0].coherence is not None
    assert -1 <= found.results[0].coherence <= 1


def test_the_fewest_topics_within_one_percent_of_the_lowest_perplexity_are_recommended() -> None:
    results = (result(10, 200.0), result(20, 101.0), result(50, 100.5), result(100, 100.0))
    assert TopicSearch(results, 0.01).recommended == 20
    assert TopicSearch(results, 0.0).recommended == 100
    assert "20       101.0          -" in str(TopicSearch(results, 0.01))


def test_the_table_and_the_records() -> None:
    found = TopicSearch((result(10, 200.0), result(20, 100.0)), 0.01)
    assert found.table.column("topics").to_pylist() == [10, 20]
    assert found.table.column("coherence").null_count == 2
    assert found.to_frame("arrow").equals(found.table)
    assert [r["recommended"] for r in found.records()] == [False, True]


def test_the_plot_marks_the_recommended(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure = TopicSearch((result(10, 200.0), result(20, 100.0)), 0.01).plot()
    assert [axes.get_title() for axes in figure.axes] == ["held-out perplexity", "diversity", "exclusivity"]
    assert figure.axes[0].lines[1].get_xdata()[0] == 20
    figure.savefig(tmp_path / "plot.png")


def test_an_interrupted_search_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "search"
    whole = search_topics(CORPUS, [1, 5], model=QUICK, coherence=False)
    fitted: list[int] = []
    fit = TagTopicModel.fit

    def counted(self: Any, *arguments: Any, **settings: Any) -> Any:
        fitted.append(self.n_topics)
        if len(fitted) == 2:
            raise RuntimeError("killed")
        return fit(self, *arguments, **settings)

    monkeypatch.setattr(TagTopicModel, "fit", counted)
    with pytest.raises(RuntimeError, match="killed"):
        search_topics(CORPUS, [1, 5], model=QUICK, coherence=False, output=folder)
    found = search_topics(CORPUS, [1, 5], model=QUICK, coherence=False, output=folder)
    assert fitted == [1, 5, 5]
    assert [c.perplexity for c in found.results] == [c.perplexity for c in whole.results]
    assert sorted(file.name for file in folder.iterdir()) == ["search.json", "topics-1.json", "topics-5.json"]


def test_an_interrupted_fit_is_not_compared(tmp_path: Path) -> None:
    def interrupt(iteration: int, bound: float, seconds: float) -> None:
        if iteration == 3:
            raise KeyboardInterrupt

    model = TWDA(max_iter=15, random_state=0, callbacks=[interrupt], checkpoint_every=1)
    with pytest.warns(UserWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        search_topics(CORPUS, [2], model=model, coherence=False, output=tmp_path / "search")
    assert (tmp_path / "search" / "topics-2.checkpoint").exists()
    assert not (tmp_path / "search" / "topics-2.json").exists()


def test_the_seconds_of_a_resumed_fit_are_those_of_the_whole_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model's seconds include those before its checkpoint; here its clock is fast, so that they are the larger."""
    reported: list[float] = []
    monkeypatch.setattr("tagtopic.models._batch.time", SimpleNamespace(perf_counter=count(step=1000).__next__))
    model = TWDA(max_iter=2, random_state=0, callbacks=[lambda iteration, bound, seconds: reported.append(seconds)])
    assert search_topics(CORPUS, [2], model=model, coherence=False).results[0].seconds == reported[-1] == 2000


def test_a_coherence_that_is_not_finite_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gensim")
    monkeypatch.setattr(module, "coherence_of", lambda model, corpus: Coherence(float("nan"), np.array([np.nan])))
    first = search_topics(CORPUS, [2], model=QUICK, coherence=True, output=tmp_path / "search")
    assert first.results[0].coherence is None
    monkeypatch.setattr(TagTopicModel, "fit", None)
    again = search_topics(CORPUS, [2], model=QUICK, coherence=True, output=tmp_path / "search")
    assert again.results == first.results


def test_coherence_requested_later_is_computed(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    search_topics(CORPUS, [2], model=QUICK, coherence=False, output=tmp_path / "search")
    again = search_topics(CORPUS, [2], model=QUICK, coherence=True, output=tmp_path / "search")
    assert again.results[0].coherence is not None


def test_a_folder_with_other_content_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "search"
    search_topics(CORPUS, [1], model=QUICK, coherence=False, output=folder)
    with pytest.raises(ValueError, match="another search"):
        search_topics(CORPUS, [1], model=QUICK, coherence=False, output=folder, random_state=1)
    (folder / "topics-1.json").write_text("{")
    with pytest.raises(ValueError, match=r"topics-1.json is damaged"):
        search_topics(CORPUS, [1], model=QUICK, coherence=False, output=folder)
    (folder / "search.json").write_text("[]")
    with pytest.raises(ValueError, match="damaged or not a search's"):
        search_topics(CORPUS, [1], model=QUICK, coherence=False, output=folder)
    (folder / "search.json").unlink()
    with pytest.raises(FileExistsError, match="other things in it"):
        search_topics(CORPUS, [1], model=QUICK, coherence=False, output=folder)
    with pytest.raises(FileExistsError, match="is a file"):
        search_topics(CORPUS, [1], model=QUICK, coherence=False, output=folder / "topics-1.json")


@pytest.mark.parametrize("changed", [{"patience": 3}, {"max_iter": 16}, {"topic_word_prior": "other numbers"}])
def test_a_search_with_other_settings_does_not_resume(changed: dict[str, Any], tmp_path: Path) -> None:
    prior = np.full(CORPUS.n_words, 0.1)
    model = TWDA(max_iter=15, random_state=0, topic_word_prior=prior)
    search_topics(CORPUS, [1], model=model, coherence=False, output=tmp_path / "search")
    if "topic_word_prior" in changed:
        changed = {"topic_word_prior": prior + 1e-10 * (np.arange(len(prior)) == 60)}
    with pytest.raises(ValueError, match="another search"):
        search_topics(CORPUS, [1], model=model.set_params(**changed), coherence=False, output=tmp_path / "search")


def test_a_search_with_equal_settings_resumes(tmp_path: Path) -> None:
    def search(whole: Any, prior: Any) -> TopicSearch:
        model = TWDA(max_iter=whole(5), random_state=np.random.RandomState(0), topic_word_prior=prior)
        output = tmp_path / "search"
        return search_topics(CORPUS, [1], model=model, random_state=whole(0), coherence=False, output=output)

    prior = np.full(CORPUS.n_words, 0.1)
    assert search(int, prior).results == search(np.int64, prior.tolist()).results


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_topics": []}, "n_topics is empty"),
        ({"n_topics": [0]}, "n_topics has 0"),
        ({"n_topics": [2.5]}, "n_topics has 2.5"),
        ({"within": -1}, "within=-1"),
    ],
)
def test_invalid_arguments_are_errors_before_any_fit(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        search_topics(CORPUS, **settings)


def test_a_model_must_be_an_estimator() -> None:
    with pytest.raises(TypeError, match="expected an estimator"):
        search_topics(CORPUS, [2], model=TWDA)


def test_groups_stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    held_out: list[Corpus] = []

    def record(number: int, estimator: Any, split: Any, *_: Any) -> TopicCount:
        held_out.append(split.test)
        return result(1, 1.0)

    monkeypatch.setattr(module, "_fit_and_measure", record)
    search_topics(CORPUS, [1], groups=[i // 3 for i in range(len(CORPUS))])
    groups = {int(name) // 3 for name in held_out[0].ids}
    assert len(held_out[0]) == 3 * len(groups)


def test_a_progress_bar_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    search_topics(CORPUS, [1], model=QUICK, coherence=False, progress=True)
    assert capsys.readouterr().err
