"""Settings for every test."""

import os

import pytest
from hypothesis import settings

# kernels compile at their first call, so no deadline; in CI the same examples every time
settings.register_profile("tagtopic", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("tagtopic")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files stay together on a worker, and so does all that shares the Spark cluster: one is enough for two cores."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        shares_cluster = "cluster" in getattr(item, "fixturenames", ())
        item.add_marker(pytest.mark.xdist_group("spark" if shares_cluster else str(item.path)))
