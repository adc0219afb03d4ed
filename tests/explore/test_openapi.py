"""Requests generated from the OpenAPI description never cause a server error (``make api-fuzz`` sends 5,000)."""

import os
import warnings
from pathlib import Path
from typing import Any, cast

from hypothesis import HealthCheck, given, settings

from tagtopic import Ledger
from tagtopic.explore import Explorer
from tagtopic.explore.service import create_app

CASES = int(os.environ.get("TAGTOPIC_API_CASES", "240"))
OPERATIONS = 25


def test_generated_requests_cause_no_server_error(explorer: Explorer, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what schemathesis itself imports
        import schemathesis
        from schemathesis.generation import GenerationMode

    ledger = Ledger.open(tmp_path / "decisions.jsonl")
    reviewed = Explorer(explorer.model, explorer.corpus, texts=explorer.texts, other=explorer.other, ledger=ledger)
    assert reviewed.review is not None
    _ = reviewed.review.queue
    app, token = create_app(reviewed, token="sesame"), {"Authorization": "Bearer sesame"}
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers=token)
    operations: list[Any] = [result.ok() for result in cast(Any, schema.get_all_operations())]
    assert len(operations) == OPERATIONS
    n_requests = 0

    def send(case: Any) -> None:
        nonlocal n_requests
        response = case.call(headers=token)
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
    Ledger.open(ledger.path)  # whole, whatever was sent


def test_description_has_every_route(explorer: Explorer) -> None:
    description = create_app(explorer).openapi()
    paths = set(description["paths"])
    assert {
        f"/api/v1/{name}"
        for name in ("topics", "tags", "infer", "predict-tags", "model", "audit", "effects", "contrast")
    } <= paths
    assert all(path.startswith("/api/v1/") for path in paths)
    for operations in description["paths"].values():
        for operation in operations.values():
            assert operation["description"]
            assert {"404", "413", "422"} <= operation["responses"].keys()
