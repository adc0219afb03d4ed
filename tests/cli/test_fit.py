"""`tagtopic fit`."""

from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Command

from tagtopic import LDA, TWDA, TWTM
from tagtopic.cli.fit import _stem
from tagtopic.models import _fit
from tagtopic.models._batch import ExpectationMaximisation

READ = ("--text", "body", "--tags", "author,year")


def test_fit_writes_a_model_and_prints_its_topics(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    target = tmp_path / "letters.tagtopic"
    outcome = tagtopic("fit", documents, *READ, "-k", 3, "-o", target)
    assert outcome.code == 0
    assert "60 documents" in outcome.err
    assert "3 topics" in outcome.out
    assert "monster" in outcome.out
    assert f"wrote {target}" in outcome.out
    assert TWDA.load(target).n_topics == 3


def test_command_line_and_python_fit_the_same_model(
    tagtopic: Command, documents: Path, model: Path, tmp_path: Path
) -> None:
    target = tmp_path / "again.tagtopic"
    assert tagtopic("fit", documents, *READ, "-k", 3, "-o", target, "--quiet").code == 0
    ours, theirs = TWDA.load(target), TWDA.load(model)
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    np.testing.assert_array_equal(ours.tag_topics_, theirs.tag_topics_)


def test_quiet_prints_nothing_and_json_prints_a_summary(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    quiet = tagtopic("fit", documents, *READ, "-k", 2, "-o", tmp_path / "m", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    summary = tagtopic("fit", documents, *READ, "-k", 2, "-o", tmp_path / "m", "--quiet", "--json").json
    assert isinstance(summary, dict)
    assert (summary["kind"], summary["topics"], summary["documents"], summary["tags"]) == ("TWDA", 2, 60, 5)
    assert summary["interrupted"] is False


@pytest.mark.parametrize(("name", "kind"), [("lda", LDA), ("twtm", TWTM)])
def test_every_model_can_be_fitted(
    tagtopic: Command, documents: Path, tmp_path: Path, name: str, kind: type[LDA] | type[TWTM]
) -> None:
    outcome = tagtopic(
        "fit", documents, *READ, "-k", 2, "--model", name, "-o", tmp_path / "m", "--inference", "mixture"
    )
    assert outcome.code == 0
    assert kind.load(tmp_path / "m").inference == "mixture"


def test_a_fit_can_do_without_the_tag_predictor(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    target = tmp_path / "m"
    assert tagtopic("fit", documents, *READ, "-k", 2, "-o", target, "--no-tag-predictor", "--quiet").code == 0
    model = TWDA.load(target)
    assert model.tag_predictor is False
    assert model.tag_predictor_ is None
    refused = tagtopic("predict", target, "-", stdin="a monster\n")
    assert refused.code != 0
    assert "fitted with tag_predictor=False" in refused.err


def test_a_killed_fit_is_resumed_with_the_same_result(
    tagtopic: Command, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("fit", documents, *READ, "-k", 2, "--tol", 0, "--max-iter", 25, "--checkpoint-every", 4)
    assert tagtopic(*command, "-o", tmp_path / "whole").code == 0
    whole_step = ExpectationMaximisation.iterate

    def killed(em: ExpectationMaximisation) -> None:
        if len(em.history.bound) == 10:
            raise MemoryError("as if killed")
        whole_step(em)

    with monkeypatch.context() as patch:
        patch.setattr(ExpectationMaximisation, "iterate", killed)
        with pytest.raises(MemoryError):
            tagtopic(*command, "-o", tmp_path / "m")
    assert not (tmp_path / "m").exists()
    outcome = tagtopic(*command, "-o", tmp_path / "m", "--resume")
    assert outcome.code == 0
    assert "resuming from" in outcome.err
    np.testing.assert_array_equal(TWDA.load(tmp_path / "m").components_, TWDA.load(tmp_path / "whole").components_)
    assert {file.name for file in tmp_path.iterdir()} >= {"m", "whole"}
    assert not list(tmp_path.glob("*.checkpoint"))


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("nowhere.jsonl", ["--text", "body"]),
        ("{documents}", ["--text", "bodey"]),
        ("{documents}", ["--text", "body", "--stop-words", "xx"]),
        ("{documents}", ["--text", "body", "--model", "twtm"]),  # which needs tags, and says so when it is fitted
    ],
)
def test_a_failed_fit_keeps_an_older_checkpoint(
    tagtopic: Command, documents: Path, tmp_path: Path, source: str, options: list[str]
) -> None:
    checkpoint = tmp_path / "m.checkpoint"
    checkpoint.write_bytes(b"state of a killed fit")
    assert tagtopic("fit", source.format(documents=documents), *options, "-k", 2, "-o", tmp_path / "m").code == 1
    assert checkpoint.read_bytes() == b"state of a killed fit"
    assert list(tmp_path.iterdir()) == [checkpoint]


def test_an_older_checkpoint_stays_in_its_place_until_it_is_replaced(
    tagtopic: Command, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("fit", documents, *READ, "-k", 2, "--tol", 0, "--max-iter", 25, "-q", "-o", tmp_path / "m")
    checkpoint, seen, iterate = tmp_path / "m.checkpoint", [], ExpectationMaximisation.iterate

    def observed(em: ExpectationMaximisation) -> None:
        seen.append((len(em.history.bound), checkpoint.read_bytes() if checkpoint.exists() else b""))
        if len(seen) == 7:
            raise MemoryError("as if killed")
        iterate(em)

    monkeypatch.setattr(ExpectationMaximisation, "iterate", observed)
    with pytest.raises(MemoryError):
        tagtopic(*command, "--checkpoint-every", 3)
    good = checkpoint.read_bytes()
    seen.clear()
    with pytest.raises(MemoryError):
        tagtopic(*command, "--checkpoint-every", 5)
    assert [state == good for _, state in seen] == [True] * 5 + [False] * 2  # its own from iteration 5 on
    assert seen[0][0] == 0
    seen.clear()
    with pytest.raises(MemoryError):
        tagtopic(*command, "--checkpoint-every", 100, "--resume")
    assert seen[0][0] == 5


def test_a_successful_fit_removes_the_checkpoint(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    (tmp_path / "m.checkpoint").write_bytes(b"state of a killed fit")
    fit = ("fit", documents, *READ, "-k", 2, "--max-iter", 2, "-q", "-o", tmp_path / "m")
    assert tagtopic(*fit, "--checkpoint-every", 1).code == 0
    assert list(tmp_path.iterdir()) == [tmp_path / "m"]


def test_online_learning(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    assert tagtopic("fit", documents, *READ, "-k", 2, "-o", tmp_path / "m", "--learning", "online").code == 0
    assert TWDA.load(tmp_path / "m").learning == "online"


def test_validation_words_select_the_iteration(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    command = ("fit", documents, *READ, "-k", 3, "-o", tmp_path / "m", "--validation-fraction", 0.5, "--patience", 2)
    outcome = tagtopic(*command)
    assert outcome.code == 0
    assert "kept iteration" in outcome.out
    summary = tagtopic(*command, "--quiet", "--json").json
    assert isinstance(summary, dict)
    model = TWDA.load(tmp_path / "m")
    assert summary["best_iteration"] == model.best_iteration_
    assert summary["validation_perplexity"] == pytest.approx(model.validation_perplexity_.min(), abs=1e-3)
    assert summary["interrupted"] is False
    assert not (tmp_path / "m.checkpoint").exists()


def test_documents_from_standard_input(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    outcome = tagtopic("fit", "-", *READ, "-k", 2, "-o", tmp_path / "m", stdin=documents.read_text())
    assert outcome.code == 0
    assert len(TWDA.load(tmp_path / "m").tag_names_) == 5


def test_default_name_of_the_model_is_that_of_the_file(
    tagtopic: Command, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tagtopic("fit", documents, *READ, "-k", 2, "-q").code == 0
    assert (tmp_path / "letters.tagtopic").is_file()


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("films.2019.jsonl", "films.2019"),
        ("data/films.2020.CSV.gz", "films.2020"),
        ("posts/*.parquet", "model"),
        ("posts-*.jsonl", "posts-"),
        ("notes.txt", "notes"),
        ("drawn.corpus", "drawn"),
        ("data/v1.2/", "v1.2"),
        ("-", "stdin"),
    ],
)
def test_only_suffixes_of_formats_are_removed_from_the_name(file: str, name: str) -> None:
    assert _stem(file) == name


def test_a_wrong_column_lists_those_that_exist(tagtopic: Command, documents: Path) -> None:
    outcome = tagtopic("fit", documents, "--text", "bodey", "-q")
    assert outcome.code == 1
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    for column in ("bodey", "body", "author", "year"):
        assert repr(column) in outcome.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.jsonl", "--text", "body"], 1, "nowhere.jsonl"),
        (["{documents}", "--text", "body", "-o", "no/such/folder/m"], 1, "there is no folder"),
        (["{documents}", "--text", "body", "-o", "{documents.parent}"], 1, "error: {documents.parent} is a folder"),
        (["{documents}", "--text", "body", "-k", "0"], 2, "-k"),
        (["{documents}", "--text", "body", "--seed", "5000000000"], 2, "4294967295"),
        (["{documents}", "--weight-update", "gradient"], 1, "--weight-update gradient is for --engine spark"),
        (
            ["{documents}", "--weight-update", "gradient", "--engine", "spark", "--master", "local[1]"],
            1,
            "add --tag-weight-prior estimate, or leave it out",
        ),
        (["{documents}", "--tag-weight-prior", "even"], 1, "--tag-weight-prior even: expected a number above 0"),
        (["{documents}", "--tag-weight-prior", "2", "--model", "lda"], 1, "is for models with tags"),
        (["{documents}", "--latent-weight-prior", "2", "--model", "twtm"], 1, "is for twda, whose documents have a"),
        (["{documents}", "--topic-word-prior", "few"], 1, "--topic-word-prior few: expected a number above 0"),
        (["{documents}", "--preset", "paper", "--model", "lda"], 1, "--preset paper is for twtm and twda"),
        (["{documents}", "--init", "luck"], 2, "luck"),
        (["{documents}", "--model", "bert"], 2, "bert"),
        ([], 2, "FILE"),
    ],
)
def test_invalid_options_give_one_error_message(
    tagtopic: Command, documents: Path, arguments: list[str], code: int, message: str
) -> None:
    outcome = tagtopic("fit", *(argument.format(documents=documents) for argument in arguments))
    assert outcome.code == code
    assert message.format(documents=documents) in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(("given", "prior"), [(["--tag-weight-prior", "0.5"], 0.5), ([], 1.0)])
def test_tag_weight_prior_can_be_given(
    tagtopic: Command, documents: Path, tmp_path: Path, given: list[str], prior: float
) -> None:
    assert tagtopic("fit", documents, *READ, "-k", 2, "-q", "--max-iter", 2, "-o", tmp_path / "m", *given).code == 0
    assert set(TWDA.load(tmp_path / "m").tag_weight_prior_) == {prior}


def test_tag_weight_prior_can_be_estimated(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    learnt = ["--tag-weight-prior", "estimate", "--max-iter", 30, "--tol", 0]
    assert tagtopic("fit", documents, *READ, "-k", 2, "-q", "-o", tmp_path / "m", *learnt).code == 0
    assert len(set(TWDA.load(tmp_path / "m").tag_weight_prior_)) > 1


@pytest.mark.filterwarnings("ignore:the prior of the tag weights ran away")
def test_preset_paper_has_the_settings_of_the_article_unless_others_are_given(
    tagtopic: Command, documents: Path, tmp_path: Path
) -> None:
    given = ("--max-iter", 3, "--topic-word-prior", 0.1, "--latent-topic-prior", "estimate", "--init", "random")
    assert tagtopic("fit", documents, *READ, "-k", 2, "-q", "-o", tmp_path / "m", "--preset", "paper", *given).code == 0
    settings = TWDA.load(tmp_path / "m").get_params()
    replaced = {"max_iter": 3, "topic_word_prior": 0.1, "latent_topic_prior": "estimate", "init": "random"}
    assert {name: settings[name] for name in replaced} == replaced
    published = TWDA.as_published().get_params()
    kept = ("inference", "tag_weight_prior", "latent_weight_prior", "tag_topic_prior", "sweeps", "sweep_tol", "tol")
    assert {name: settings[name] for name in kept} == {name: published[name] for name in kept}


@pytest.mark.parametrize("source", ["letters.jsonl", "./letters.jsonl", "*.jsonl", "."])
def test_a_model_does_not_overwrite_its_input(tagtopic: Command, documents: Path, tmp_path: Path, source: str) -> None:
    own = tmp_path / "letters.jsonl"
    own.write_bytes(documents.read_bytes())
    outcome = tagtopic("fit", f"{tmp_path}/{source}", *READ, "-k", 2, "--max-iter", 1, "-o", own)
    assert (outcome.code, outcome.err.startswith(f"error: {own} is read by this command")) == (1, True)
    assert own.read_bytes() == documents.read_bytes()


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt the fourth iteration."""
    iterate = ExpectationMaximisation.iterate

    def interrupted(em: ExpectationMaximisation) -> None:
        if len(em.history.bound) == 3:
            raise KeyboardInterrupt
        iterate(em)

    monkeypatch.setattr(ExpectationMaximisation, "iterate", interrupted)


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("interrupted")
def test_ctrl_c_keeps_the_model_so_far(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.tagtopic"
    outcome = tagtopic("fit", documents, *READ, "-k", 2, "-o", target)
    assert outcome.code == 130
    assert "interrupted after 3 iterations" in outcome.err
    assert f"the model so far is in {target}" in outcome.err
    assert TWDA.load(target).n_iter_ == 3


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize(("every", "resumable"), [(2, True), (5, False)])
def test_a_second_ctrl_c_reports_the_checkpoint(
    tagtopic: Command, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int, resumable: bool
) -> None:
    def interrupted_again(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_fit, "set_learnt", interrupted_again)
    target = tmp_path / "m"
    outcome = tagtopic("fit", documents, *READ, "-k", 2, "-o", target, "--checkpoint-every", every)
    assert outcome.code == 130
    assert f"stopped: {target} is not written" in outcome.err
    assert (f"the same command with --resume continues from {target}.checkpoint" in outcome.err) is resumable
    assert not target.exists()


def test_spark_needs_the_address_of_the_cluster(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    outcome = tagtopic("fit", documents, *READ, "-k", 2, "-o", tmp_path / "m", "--engine", "spark")
    assert (outcome.code, "--master" in outcome.err) == (1, True)
    outcome = tagtopic("fit", documents, *READ, "-k", 2, "-o", tmp_path / "m", "--master", "spark://host:7077")
    assert (outcome.code, "--engine spark" in outcome.err) == (1, True)


def test_own_words_can_be_left_out(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    command = ("fit", documents, "--text", "body", "--tags", "author", "--topics", 2, "--max-iter", 10, "--inference")
    for option, has_some in (("--own-words", True), ("--no-own-words", False)):
        assert tagtopic(*command, "gibbs", option, "-o", tmp_path / "model").code == 0
        assert bool(TWDA.load(tmp_path / "model").own_words_.nnz) is has_some
    assert "own_words=True" in tagtopic(*command, "cvb0", "--own-words", "-o", tmp_path / "model").err
    assert "lda has none" in tagtopic(*command, "gibbs", "--model", "lda", "--own-words", "-o", tmp_path / "model").err
