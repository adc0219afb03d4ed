"""Each figure and table of the paper: a grid of cells to measure, a table and a plot.

``run(name, subject, folder)`` measures one of ``NAMES``; ``tagtopic experiment`` does so from the command line. Plots
need ``pip install 'tagtopic[experiments]'``.
"""

from tagtopic.experiments.data import Choice, Subject, embedded, planted, select
from tagtopic.experiments.experiment import Experiment, Plan
from tagtopic.experiments.run import NAMES, Outcome, run

__all__ = ["NAMES", "Choice", "Experiment", "Outcome", "Plan", "Subject", "embedded", "planted", "run", "select"]
