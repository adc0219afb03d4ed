"""Check that the published package works in an empty environment.

python tools/install_check.py [PYTHON]

Builds the sdist and from it the wheel, and installs the wheel into empty environments: without extras, with each extra
alone, with all together. In each it fits a few documents and uses what the extra provides; without extras it also runs
the demo.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
FIT = """
from tagtopic import TWDA, Corpus
corpus = Corpus.from_texts(["a ship in space", "police hunt a killer"] * 5, [["space"], ["crime"]] * 5)
model = TWDA(2, random_state=0).fit(corpus)
assert model.predict_tags(["the ship"], n=1)[0][0][0] == "space"
"""
USES = {
    "": "",
    "analysis": "model.effects(corpus, 'crime')",
    "explore": "from tagtopic.explore import Explorer, write_report; write_report(Explorer(model, corpus), 'r.html')\n"
    "from tagtopic.explore.service.app import create_app; create_app(Explorer(model, corpus)); model.plot_topics()",
    "figures": "assert model.plot_topics().to_image(format='svg')",  # Chrome or Chromium is on the path
    "spark": "from tagtopic.engines import SparkEngine; SparkEngine(master='local[1]')",
    "excel": "import python_calamine",
    "stem": "assert Corpus.from_texts(['computers'] * 2, stem='en').words == ('comput',)",
    "baselines": "from tagtopic.baselines import LDA; LDA(2, sweeps=5).fit(corpus)\n"
    "from tagtopic.evaluation import coherence; coherence(model, corpus, n_words=2)",
    "experiments": "from tagtopic.experiments import Plan, planted_dataset, run\n"
    "run('tags', planted_dataset(quick=True), 'out', Plan(quick=True, models=('tf-idf centroid',)), progress=False)",
}
DEMO = ("--package", "joblib", "-k", "5", "--quiet")
TOGETHER = "analysis,explore,spark,experiments"


def main(python: str) -> None:
    """Build the wheel and try each extra."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        print(f"built {wheel.name} ({wheel.stat().st_size / 1000:.0f} kB)", flush=True)
        for extra in [*USES, TOGETHER]:
            code = FIT + "\n".join(USES[part] for part in extra.split(","))
            try_extra(wheel, extra, code, python, Path(folder) / f"venv-{extra or 'plain'}")


def build_wheel(folder: Path) -> Path:
    """Build the wheel from the unpacked sdist, as an installer would."""
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    sdist = next(SdistBuilder(str(ROOT)).build(directory=str(folder)))
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / Path(sdist).name.removesuffix(".tar.gz")
    return Path(next(WheelBuilder(str(unpacked)).build(directory=str(folder))))


def try_extra(wheel: Path, extra: str, code: str, python: str, venv: Path) -> None:
    """Install the wheel with an extra in a new environment, and use it with an empty home directory."""
    subprocess.run([python, "-m", "venv", venv], check=True)
    inner = str(venv / "bin" / "python")
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    subprocess.run([inner, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted], check=True)
    home = venv / "home"
    home.mkdir()
    bare = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    for command in ([str(venv / "bin" / "tagtopic"), "--version"], [inner, "-m", "tagtopic", "--version"]):
        subprocess.run(command, check=True, cwd=home, env=bare, stdout=subprocess.DEVNULL)
    subprocess.run([inner, "-W", "error", "-c", code], check=True, cwd=home, env=bare)
    if not extra:
        subprocess.run(
            [inner, "-m", "tagtopic", "demo", *DEMO], check=True, cwd=home, env=bare, stdin=subprocess.DEVNULL
        )
    print(f"[{extra}] works", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else sys.executable)
