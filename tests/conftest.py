"""Settings of all tests."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# kernels compile at their first call and machines are busy, so nothing is timed; reproducible examples in CI
settings.register_profile(
    "tagtopic", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("tagtopic")


@pytest.fixture
def no_room() -> Callable[[], AbstractContextManager[None]]:
    """Return a context in which files cannot exceed 130 bytes, as on a full disk: the header of an array fits."""
    resource: Any = pytest.importorskip("resource")

    @contextmanager
    def limited() -> Iterator[None]:
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (130, usual[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)

    return limited


LONGEST = (
    "tests/integration/test_",  # Spark: half of the time is spent waiting for Java
    "tests/models/test_planted_truth.py",
    "tests/integration/browser/",
    "tests/test_",
    "tests/baselines/test_baselines.py",
    "tests/cli/test_demo.py",
    "tests/tools/",
    "tests/experiments/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first, so that no worker is left with one of them at the end."""

    def rank(item: pytest.Item) -> int:
        return next((rank for rank, path in enumerate(LONGEST) if item.nodeid.startswith(path)), len(LONGEST))

    items.sort(key=rank)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file on one worker, and all that share a Spark cluster: one is enough for two cores."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return "spark" if path.startswith("tests/integration/test_spark") else path

    return ByFile(config, log)
