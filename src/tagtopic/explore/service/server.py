"""Running the service until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

import uvicorn

from tagtopic.explore.service.app import create_app

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer


def run(explorer: Explorer, host: str, port: int, token: str | None, tell: Callable[[str], object]) -> None:
    """Serve until Ctrl-C; ``tell`` is given the address once requests are answered."""
    with _listening(host, port) as listener:
        config = uvicorn.Config(create_app(explorer, token=token, host=host), log_level="warning", server_header=False)
        explorer.warm()
        tell(f"{explorer.name} is at {address(host, listener.getsockname()[1], token)} (Ctrl-C ends)")
        uvicorn.Server(config).run(sockets=[listener])


def address(host: str, port: int, token: str | None) -> str:
    """Where a browser finds the pages."""
    shown = f"[{host}]" if ":" in host else host
    query = "" if token is None else f"?token={quote(token, safe='')}"
    return f"http://{shown}:{port}/{query}"


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)  # whoever comes before the first request is answered waits, and is not refused
    except OSError as error:
        listener.close()
        raise OSError(f"{host}:{port} cannot be listened on ({error.strerror or error}): try another --port") from None
    return listener
