"""The service under load: 64 clients call /api/v1/infer for 30 seconds, against the same calls in one process.

    python benchmarks/serve.py MODEL --corpus FILE.jsonl --text body

Server, clients and reference share the cores of this machine, so only ratios are meaningful. "in process" is
``model.transform`` called for one request after the other in a loop.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field

import numpy as np

from tagtopic import Corpus
from tagtopic.models._base import TagTopicModel


@dataclass
class LoadResult:
    """Response times and errors of all clients."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def requests_of(texts: list[str], tags: list[list[str]], size: int) -> list[bytes]:
    documents = [{"text": text, "tags": own} for text, own in zip(texts, tags, strict=True)]
    bodies = [json.dumps({"documents": documents[i : i + size]}).encode() for i in range(0, len(documents), size)]
    head = (
        "POST /api/v1/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
    )
    return [head.format(len(body)).encode() + body for body in bodies]


async def client(port: int, requests: list[bytes], offset: int, until: float, result: LoadResult) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = offset
    while time.perf_counter() < until:
        started = time.perf_counter()
        writer.write(requests[number % len(requests)])
        number += 1
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1])  # type: ignore[index]
        await reader.readexactly(length)
        result.seconds.append(time.perf_counter() - started)
        if b" 200 " not in head[:20]:
            result.errors.append(head[:30].decode())
    writer.close()


async def load(port: int, requests: list[bytes], clients: int, seconds: float) -> LoadResult:
    result = LoadResult()
    until = time.perf_counter() + seconds
    await asyncio.gather(*(client(port, requests, 97 * i, until, result) for i in range(clients)))
    return result


def in_process(model: TagTopicModel, texts: list[str], tags: list[list[str]], size: int, seconds: float) -> float:
    """Return requests per second."""
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        first = done * size % max(1, len(texts) - size)
        model.transform(texts[first : first + size], tags=tags[first : first + size])
        done += 1
    return done / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--text", default="text")
    parser.add_argument("--tags", default=None)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--documents", type=int, nargs="+", default=[1, 16], help="documents per request")
    given = parser.parse_args()
    model = TagTopicModel.load(given.model)
    tag_columns = given.tags.split(",") if given.tags else None
    corpus = Corpus.read(
        given.corpus,
        text=given.text.split(","),
        tags=tag_columns,
        words=model.words_,
        rules=model.rules_,
        keep_texts=True,
    )
    known = set(model.tag_names_)
    tags = [[tag for tag in document.tags if tag in known] for document in corpus]
    texts, tags = list((corpus.texts or ())[:5000]), tags[:5000]
    command = [sys.executable, "-m", "tagtopic", "serve", given.model, "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    try:
        assert server.stderr is not None
        port = int(re.search(r":(\d+)/", server.stderr.readline())[1])  # type: ignore[index]
        for size in given.documents:
            requests = requests_of(texts, tags, size)
            asyncio.run(load(port, requests, 4, 3))  # compiles kernels
            in_process(model, texts, tags, size, 1)
            result = asyncio.run(load(port, requests, given.clients, given.seconds))
            alone = in_process(model, texts, tags, size, given.seconds / 3)
            rate = len(result.seconds) / given.seconds
            p50, p99 = np.quantile(result.seconds, [0.5, 0.99]) * 1000
            print(
                f"{size:>3} documents per request, {given.clients} clients, {given.seconds:g} s: {len(result.seconds)}"
                f" requests, {len(result.errors)} errors; {rate:.0f} / s, p50 {p50:.0f} ms, p99 {p99:.0f} ms; "
                f"in process {alone:.0f} per s; ratio {rate / alone:.2f}"
            )
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
