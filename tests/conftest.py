"""Settings for every test."""

import os

from hypothesis import settings

# kernels compile at their first call, so no deadline; in CI the same examples every time
settings.register_profile("tagtopic", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("tagtopic")
