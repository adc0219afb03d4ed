"""Ctrl-C at random moments of a fit, twice (``make interrupts`` does it 20 times)."""

import subprocess
import sys
from pathlib import Path

INTERRUPTS = Path(__file__).parents[2] / "tools" / "interrupts.py"


def test_ctrl_c_at_random_moments_leaves_nothing_half_done() -> None:
    command = [sys.executable, str(INTERRUPTS), "--times", "2", "--documents", "200", "--seed", "3"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2 times Ctrl-C" in done.stdout
