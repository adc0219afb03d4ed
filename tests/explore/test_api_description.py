"""What schemathesis makes of the API's own description never breaks it (``make api-fuzz`` asks 5,000 times)."""

import os
import warnings
from typing import Any, cast

from hypothesis import HealthCheck, given, settings

from tagtopic.explore import Explorer
from tagtopic.explore.service import create_app

CASES = int(os.environ.get("TAGTOPIC_API_CASES", "240"))
OPERATIONS = 12


def test_no_generated_request_breaks_the_service(explorer: Explorer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what schemathesis itself imports
        import schemathesis
        from schemathesis.generation import GenerationMode

    _ = explorer.audit
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", create_app(explorer))
    operations: list[Any] = [result.ok() for result in cast(Any, schema.get_all_operations())]
    assert len(operations) == OPERATIONS
    asked = 0

    def ask(case: Any) -> None:
        nonlocal asked
        response = case.call()
        asked += 1
        assert response.status_code < 500, f"{case.method} {case.path}: {response.text[:300]}"
        if response.status_code >= 400:
            assert isinstance(response.json()["detail"], str)

    for operation in operations:
        requests = operation.as_strategy(GenerationMode.POSITIVE)
        if not operation.label.endswith(("/model", "/compare")):  # these take nothing that could be wrong
            requests |= operation.as_strategy(GenerationMode.NEGATIVE)
        some = settings(max_examples=-(-CASES // OPERATIONS), database=None, suppress_health_check=list(HealthCheck))
        some(given(case=requests)(ask))()
    assert asked >= 0.5 * CASES


def test_the_description_names_every_route(explorer: Explorer) -> None:
    description = create_app(explorer).openapi()
    paths = set(description["paths"])
    assert {f"/api/v1/{name}" for name in ("topics", "tags", "infer", "predict-tags", "model", "audit")} <= paths
    assert all(path.startswith("/api/v1/") for path in paths)
    for operations in description["paths"].values():
        for operation in operations.values():
            assert operation["description"]
            assert {"404", "413", "422"} <= operation["responses"].keys()
