"""Memory of the service before, during and after requests whose bodies do not arrive.

    python benchmarks/half_sent.py [--clients 200] [--rounds 3] [--megabytes 3.5]

A small model is served by ``tagtopic serve`` with its usual limits. In each round the clients announce a body, send
part of it and wait; the service answers 408 after its time limit, or 503 at once if there are too many bodies. Printed
is the resident memory of the service.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tagtopic import TWDA
from tagtopic.datasets import make_tagged_corpus


def resident_megabytes(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def half_request(port: int, size: int) -> socket.socket:
    """Connect, announce a body of 4 MB and send ``size`` bytes of it."""
    client = socket.create_connection(("127.0.0.1", port), timeout=120)
    head = f"POST /api/v1/infer HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    with suppress(ConnectionError):  # refused while it is sent
        client.sendall(f"{head}Content-Length: {4_000_000}\r\n\r\n".encode() + b" " * size)
    return client


def status_of(client: socket.socket) -> str:
    """Return the status that the service answers, once it does."""
    try:
        answer = client.recv(1 << 16)
    except ConnectionError:
        return "closed"
    return answer.split(b" ")[1].decode() if answer.count(b" ") else "closed"


def main() -> None:
    """Read the command line and print memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=float, default=3.5, help="how much of each body is sent")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.tagtopic"
        TWDA(3, max_iter=20, random_state=0).fit(make_tagged_corpus(200, 3, 8, 60, random_state=0).corpus).save(model)
        command = [sys.executable, "-m", "tagtopic", "serve", str(model), "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert server.stdout is not None
        try:
            port = next(int(m[1]) for line in server.stdout if (m := re.search(r"127\.0\.0\.1:(\d+)", line)))
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionError:
                    time.sleep(0.5)
            time.sleep(5)
            print(f"before: {resident_megabytes(server.pid):.0f} MB")
            for number in range(1, asked.rounds + 1):
                clients = [half_request(port, int(asked.megabytes * 1e6)) for _ in range(asked.clients)]
                time.sleep(2)
                during = resident_megabytes(server.pid)
                statuses = [status_of(client) for client in clients]
                for client in clients:
                    client.close()
                time.sleep(5)
                counts = ", ".join(f"{statuses.count(status)} x {status}" for status in sorted(set(statuses)))
                after = resident_megabytes(server.pid)
                print(f"round {number}: {during:.0f} MB while they wait, {after:.0f} MB after ({counts})", flush=True)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
