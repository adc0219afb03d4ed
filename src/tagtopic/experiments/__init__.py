"""The figures and tables of the paper: each experiment measures a grid of cells and writes a table and a plot.

``run(name, dataset, folder)`` runs one of ``EXPERIMENT_NAMES``; so does ``tagtopic experiment`` on the command line.
Plots need ``pip install 'tagtopic[experiments]'``.
"""

from tagtopic.experiments.dataset import Dataset, Selection, embedded_dataset, planted_dataset, select_dataset
from tagtopic.experiments.experiment import EXPERIMENT_NAMES, Experiment, ExperimentResult, Plan, run

__all__ = [
    "EXPERIMENT_NAMES",
    "Dataset",
    "Experiment",
    "ExperimentResult",
    "Plan",
    "Selection",
    "embedded_dataset",
    "planted_dataset",
    "run",
    "select_dataset",
]
