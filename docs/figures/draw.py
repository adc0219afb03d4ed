"""Draw the figures of the documentation.

python docs/figures/draw.py                               # the diagrams
python docs/figures/draw.py inference-methods tutorial    # also the figures that need fits; a minute each

Diagrams are deterministic, and a test compares the files with them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from svg import BLUE, FAINT, GREEN, GREY, INK, ORANGE, RED, Picture

HERE = Path(__file__).parent
TOPICS = {"space": BLUE, "crime": ORANGE, "family": GREEN}


def generative_process() -> Picture:
    """Draw the generative process of a document."""
    picture = Picture(
        760,
        372,
        "The generative process of a document: tags with topic mixes, weights, the document's topic mix, words",
    )
    columns = ((24, "1. Tags with their topic mixes"), (286, "2. Tag weights"), (462, "3. Topic mix"))
    for x, words in columns:
        picture.text(x, 30, words, 13, bold=True)
    picture.text(596, 30, "4. Words", 13, bold=True)
    tags = (
        ("director: Scott", (0.62, 0.30, 0.08), "0.50"),
        ("keyword: monster", (0.85, 0.05, 0.10), "0.35"),
        ("latent tag (TWDA)", (0.05, 0.15, 0.80), "0.15"),
    )
    for i, (name, mix, weight) in enumerate(tags):
        y = 52 + i * 88
        picture.box(24, y, 216, 74, "#f5f7f9", FAINT)
        picture.text(34, y + 20, name, 13, bold=True)
        picture.text(34, y + 40, "topic mix θ," if i < 2 else "topic mix λ, drawn", 11.5, GREY)
        picture.text(34, y + 56, "learnt" if i < 2 else "for this document", 11.5, GREY)
        picture.bars(180, y + 66, mix, tuple(TOPICS.values()), 14, 56)
        picture.arrow(242, y + 37, 444, 170 + (i - 1) * 14, GREY, 0.8 + 4 * float(weight))
        picture.box(300, y + 24 + (1 - i) * 24, 48, 24, "#ffffff", FAINT, 12)
        picture.text(324, y + 41 + (1 - i) * 24, weight, 12.5, INK, "middle", bold=True)
    mixed = np.array([0.5, 0.35, 0.15]) @ np.array([mix for _, mix, _ in tags])
    picture.bars(464, 220, mixed, tuple(TOPICS.values()), 24, 150)
    for i, share in enumerate(mixed):
        picture.text(476 + 27 * i, 236, f"{share:.2f}", 11, GREY, "middle")
    picture.arrow(552, 170, 588, 170)
    words = (
        ("a ship", 0), ("with crew", 0), ("finds", None), ("a monster;", 0), ("it", None), ("kills", 1),
        ("them", None), ("one by one", None), ("until", None), ("a mother", 2), ("chases it", 1),
    )  # fmt: skip
    for i, (word, topic) in enumerate(words):
        colour = GREY if topic is None else tuple(TOPICS.values())[topic]
        picture.text(600 + 68 * (i % 2), 68 + 28 * (i // 2), word, 14, colour, bold=topic is not None)
    picture.line([(24, 318), (736, 318)], FAINT, 1)
    topics = (
        ("space", "ship planet crew alien monster"),
        ("crime", "murder kill police chase"),
        ("family", "mother child home wedding"),
    )
    picture.text(24, 346, "Topics (ψ):", 12.5, INK, bold=True)
    for i, (name, top_words) in enumerate(topics):
        picture.box(112 + 216 * i, 336, 11, 11, TOPICS[name], corner=2)
        picture.text(128 + 216 * i, 346, top_words, 12, INK)
    return picture


def mixtures() -> Picture:
    """Draw why inference by the paper's bound gives one tag all the weight: its mixture of tags is geometric."""
    picture = Picture(
        760, 300, "Arithmetic and geometric mixture of two tags, and the log-likelihood of a document by tag weight"
    )
    colours = tuple(TOPICS.values())
    first, second = np.array([0.90, 0.09, 0.01]), np.array([0.01, 0.09, 0.90])
    panels = (
        (24, "tag A", first), (104, "tag B", second),
        (208, "½ A + ½ B", (first + second) / 2), (308, "√(A·B)", np.sqrt(first * second)),
    )  # fmt: skip
    for x, name, mix in panels:
        picture.bars(x, 200, mix, colours, 16, 140)
        picture.text(x + 27, 222, name, 13, INK, "middle", bold=True)
        picture.text(x + 27, 240, f"sum {mix.sum():.2f}", 11.5, GREY, "middle")
    picture.text(24, 34, "Mixtures of two tags with equal weights", 13, bold=True)
    picture.text(24, 272, "The arithmetic mixture keeps every topic of either tag.", 11.5, GREY)
    picture.text(24, 288, "The geometric one (the paper's bound) loses topics that one tag lacks.", 11.5, GREY)
    left, top, wide, high = 452, 54, 276, 170
    picture.text(left - 8, 34, "7 of 10 words from A's main topic", 13, bold=True)
    picture.box(left, top, wide, high, "#f5f7f9", FAINT, 0)
    weights = np.linspace(0.005, 0.995, 100)
    a_mix = np.outer(weights, first) + np.outer(1 - weights, second)
    g_mix = np.exp(np.outer(weights, np.log(first)) + np.outer(1 - weights, np.log(second)))
    for mix, colour, name, y in (
        (a_mix, BLUE, "arithmetic", 88),
        (g_mix, RED, "geometric (paper)", 206),
    ):
        log_likelihood = 0.7 * np.log(mix[:, 0]) + 0.3 * np.log(mix[:, 2])
        points = [(left + wide * w, top + high * (0.08 - log_likelihood[i] * 0.26)) for i, w in enumerate(weights)]
        picture.line(points, colour, 2.5)
        best = int(log_likelihood.argmax())
        picture.dots([points[best]], colour, 11)
        picture.text(left + 100, y, name, 12, colour, bold=True)
    for share in (0, 0.5, 1):
        picture.text(left + wide * share, top + high + 18, f"{share:g}", 11.5, GREY, "middle")
    picture.text(left + wide / 2, top + high + 38, "weight of tag A (dots: maxima)", 11.5, GREY, "middle")
    picture.text(left - 8, top + high + 58, "vertical: mean log probability of a word", 11.5, GREY)
    return picture


def layers() -> Picture:
    """Draw the packages in the order of their imports, and the data flow from files to results."""
    picture = Picture(760, 604, "Architecture: the packages in layers, and the data flow from files to results")
    rows = (
        ("cli · explore · experiments", "commands; views, pages, API and report; the experiments of the paper",
         "user interfaces"),
        ("baselines · datasets · evaluation", "compared models; planted corpora; perplexity, coherence, ranking",
         "measurement"),
        ("models", "TWTM, TWDA, LDA: settings, initialisation, batch and online EM, model file", "estimators"),
        ("curation · analysis · tagging", "ledger of decisions; effects, trends, groups; tag predictor, audit",
         "tasks on tags and topics"),
        ("engines", "sessions that run E-step and M-step on blocks: local threads, or a Spark cluster",
         "execution"),
        ("inference", "Numba kernels and their NumPy reference: E-step, M-step, SVI, priors",
         "arrays in, arrays out"),
        ("corpus", "readers, tokenizer, vocabulary; the immutable Corpus and its folder on disk", "documents"),
        ("_core", "compiled kernels, thread pools, atomic files, progress bars, optional imports",
         "no domain knowledge"),
    )  # fmt: skip
    picture.text(24, 30, "Each package imports only the packages below it and, in a row, to its right", 13, bold=True)
    for i, (name, does, note) in enumerate(rows):
        y = 44 + i * 54
        picture.box(24, y, 712, 47, "#f5f7f9" if i % 2 else "#eef2f6", FAINT)
        picture.text(38, y + 20, name, 13.5, BLUE, bold=True)
        picture.text(38, y + 37, does, 12, INK)
        picture.text(722, y + 20, note, 11.5, GREY, "end")
    picture.text(24, 496, "Data flow", 13, bold=True)
    stages = (
        ("files, frame", "text and tags"), ("Corpus", "2 sparse matrices"), ("blocks", "of documents"),
        ("E-step", "for each block"), ("M-step", "new parameters"), ("model", "one file"),
        ("results", "weights, audit, …"),
    )  # fmt: skip
    for i, (name, note) in enumerate(stages):
        x = 24 + i * 103
        picture.box(x, 508, 92, 48, "#ffffff", BLUE if i in (1, 5) else FAINT, 5)
        picture.text(x + 46, 527, name, 12.5, INK, "middle", bold=True)
        picture.text(x + 46, 545, note, 9.5, GREY, "middle")
        if i:
            picture.arrow(x - 11, 532, x - 2, 532)
    picture.line([(482, 558), (482, 578), (379, 578)], ORANGE, 1.8)
    picture.arrow(379, 578, 379, 559, ORANGE, 1.8)
    picture.text(431, 594, "until convergence", 11, ORANGE, "middle")
    return picture


def inference_methods() -> Picture:
    """Plot inferred against true tag weights for each inference method, on a planted corpus."""
    from scipy.stats import spearmanr

    from tagtopic import TWDA
    from tagtopic.datasets import make_tagged_corpus

    picture = Picture(760, 268, "Inferred against true tag weights under four inference methods")
    planted = make_tagged_corpus(3000, 10, 50, 1000, model="twda", latent_concentration=0.05, random_state=0)
    train, test = planted.corpus[:2500], planted.corpus[2500:]
    true = planted.tag_weights[2500:].toarray()[test.tags.toarray() > 0]
    shown = np.random.default_rng(0).choice(len(true), 350, replace=False)
    for i, (method, colour) in enumerate(
        zip(("cvb0", "map", "mixture", "paper"), (BLUE, GREEN, ORANGE, RED), strict=True)
    ):
        model = TWDA(10, inference=method, random_state=0).fit(train)
        found = model.tag_weights(test).toarray()[test.tags.toarray() > 0]
        x = 24 + i * 184
        picture.text(x, 30, f'"{method}"', 13.5, colour, bold=True)
        picture.box(x, 42, 160, 160, "#f5f7f9", FAINT, 0)
        picture.line([(x, 202), (x + 160, 42)], FAINT, 1)
        picture.dots([(x + 160 * true[j], 202 - 160 * found[j]) for j in shown], colour)
        picture.text(x, 220, f"rank correlation {spearmanr(true, found)[0]:.2f}", 11.5, INK)
        picture.text(x, 236, f"held-out perplexity {model.perplexity(test):.0f}", 11.5, INK)
    picture.text(
        24,
        258,
        "horizontal: true weight of a tag in a document; vertical: inferred weight; both from 0 to 1",
        11.5,
        GREY,
    )
    return picture


def tutorial_figures() -> dict[str, Picture]:
    """Draw the figures of the tutorial from its own code."""
    import re
    from contextlib import chdir
    from tempfile import TemporaryDirectory

    names: dict[str, object] = {}
    page = (HERE.parent / "tutorial.md").read_text("utf-8")
    with TemporaryDirectory() as folder, chdir(folder):
        for block in re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL):
            exec(compile(block, "tutorial.md", "exec"), names)
    return {"tutorial-tags.svg": _weights(names), "tutorial-audit.svg": _audit(names)}


def _weights(names: dict[str, object]) -> Picture:
    model, corpus = names["model"], names["corpus"]
    ids = list(corpus.ids)
    chosen = ("subprocess.run", "json.dumps", "urllib.request.urlopen")
    picture = Picture(760, 210, "Weights of the tags of three functions")
    for column, name in enumerate(chosen):
        document = corpus[[ids.index(name)]]
        answer = model.tag_weights(document, intervals=0.9)
        picture.text(24 + 246 * column, 28, name, 13, INK, bold=True)
        low, high = answer.low.toarray()[0], answer.high.toarray()[0]
        for i, (tag, weight) in enumerate(model.rank_tags(document)[0]):
            x, y, j = 24 + 246 * column, 44 + i * 26, model.tag_names_.index(tag)
            picture.text(x, y + 13, tag.replace("parameters:", "parameter ").replace(":", " "), 11.5, INK)
            picture.box(x + 128, y + 3, 1 + 106 * weight, 12, BLUE, corner=1)
            picture.line([(x + 128 + 106 * low[j], y + 9), (x + 128 + 106 * high[j], y + 9)], ORANGE, 1.8)
    picture.text(24, 200, "bars: weight in the document; lines: 90% intervals", 11.5, GREY)
    return picture


def _audit(names: dict[str, object]) -> Picture:
    report, planted = names["report"], names["planted"]
    modules = [entry for entry in report.entries if entry.tag.startswith("module:")]
    picture = Picture(760, 240, "Plausibility of tags: those introduced as errors, and all others")
    edges = np.linspace(0, 1, 21)
    for column, (wanted, name, colour) in enumerate(((True, "wrong modules", RED), (False, "the other modules", BLUE))):
        values = [entry.plausibility for entry in modules if ((entry.document, entry.tag) in planted) == wanted]
        shares = np.histogram(values, edges)[0] / len(values)
        high = 140 / shares.max()
        x = 24 + column * 372
        picture.text(x, 30, f"{name} ({len(values):,})", 13, colour, bold=True)
        picture.line([(x, 190), (x + 340, 190)], FAINT, 1)
        for i, share in enumerate(shares):
            picture.box(x + 17 * i, 190 - high * share, 15, high * share, colour, corner=1)
        for edge in (0, 0.5, 1):
            picture.text(
                x + 340 * edge,
                207,
                f"{edge:g}",
                11.5,
                GREY,
                "middle" if 0 < edge < 1 else "start" if not edge else "end",
            )
    picture.text(24, 230, "horizontal: plausibility; vertical: share of the tags", 11.5, GREY)
    return picture


DIAGRAMS = {"generative-process.svg": generative_process, "mixtures.svg": mixtures, "layers.svg": layers}


def main(wanted: set[str]) -> None:
    """Write the diagrams, and the figures that are named."""
    for name, draw in DIAGRAMS.items():
        draw().write(HERE / name)
    if "inference-methods" in wanted:
        inference_methods().write(HERE / "inference-methods.svg")
    if "tutorial" in wanted:
        for name, picture in tutorial_figures().items():
            picture.write(HERE / name)


if __name__ == "__main__":
    main(set(sys.argv[1:]))
