"""SIGKILL at random moments of an online fit, twice (tests/models/test_checkpoint.py kills a batch fit)."""

import subprocess
import sys
from pathlib import Path

KILLS = Path(__file__).parents[2] / "tools" / "kills.py"


def test_an_online_fit_killed_at_random_moments_ends_with_the_same_bits() -> None:
    command = [sys.executable, str(KILLS), "--kills", "2", "--documents", "300", "--learning", "online"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "2 kills over" in done.stdout
