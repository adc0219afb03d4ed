"""Requests generated from the OpenAPI description never cause a server error (``make api-fuzz`` sends 5,000)."""

import os
import warnings
from typing import Any, cast

from hypothesis import HealthCheck, given, settings

from tagtopic.explore import Explorer
from tagtopic.explore.service import create_app

CASES = int(os.environ.get("TAGTOPIC_API_CASES", "240"))
OPERATIONS = 12


def test_generated_requests_cause_no_server_error(explorer: Explorer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what schemathesis itself imports
        import schemathesis
        from schemathesis.generation import GenerationMode

    _ = explorer.audit
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", create_app(explorer))
    operations: list[Any] = [result.ok() for result in cast(Any, schema.get_all_operations())]
    assert len(operations) == OPERATIONS
    n_requests = 0

    def send(case: Any) -> None:
        nonlocal n_requests
        response = case.call()
        n_requests += 1
        assert response.status_code < 500, f"{case.method} {case.path}: {response.text[:300]}"
        if response.status_code >= 400:
            assert isinstance(response.json()["detail"], str)

    for operation in operations:
        requests = operation.as_strategy(GenerationMode.POSITIVE)
        if not operation.label.endswith(("/model", "/compare")):  # these take nothing that could be wrong
            requests |= operation.as_strategy(GenerationMode.NEGATIVE)
        some = settings(max_examples=-(-CASES // OPERATIONS), database=None, suppress_health_check=list(HealthCheck))
        some(given(case=requests)(send))()
    assert n_requests >= 0.5 * CASES


def test_description_has_every_route(explorer: Explorer) -> None:
    description = create_app(explorer).openapi()
    paths = set(description["paths"])
    assert {f"/api/v1/{name}" for name in ("topics", "tags", "infer", "predict-tags", "model", "audit")} <= paths
    assert all(path.startswith("/api/v1/") for path in paths)
    for operations in description["paths"].values():
        for operation in operations.values():
            assert operation["description"]
            assert {"404", "413", "422"} <= operation["responses"].keys()
