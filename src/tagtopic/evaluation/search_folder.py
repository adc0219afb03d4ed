"""The folder of a search: which search it is, and what of it is finished. Files appear whole or not at all."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagtopic.evaluation.search_result import TopicCount
from tagtopic.files import write_text
from tagtopic.models.checkpoint import NOT_PART_OF_A_RUN, described

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

MARKER = "search.json"
FORMAT = "tagtopic search"

ASKED = "coherence asked for"

WHERE_A_FIT_ENDS = ("max_iter", "patience")
"""No part of a run, which may be resumed with others, but part of a search: its figures are those of ends."""


@dataclass(frozen=True)
class SearchFolder:
    """Where a search keeps what is finished."""

    path: Path

    @classmethod
    def of(cls, path: Path, estimator: Any, train: Corpus, test: Corpus, seed: int) -> SearchFolder:
        """The folder of this search, made if it is not there; an error if it is another search's, or not one's."""
        settings = {
            name: described(value)
            for name, value in sorted(estimator.get_params().items())
            if (name not in NOT_PART_OF_A_RUN or name in WHERE_A_FIT_ENDS) and name != "n_topics"
        }
        content = [type(estimator).__name__, settings, train.fingerprint(), test.fingerprint(), described(seed)]
        key = hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()
        if path.exists() and not path.is_dir():
            raise FileExistsError(f"{path} is a file; a search needs a folder to keep what is finished")
        path.mkdir(parents=True, exist_ok=True)
        _claim(path, key)
        return cls(path)

    def finished(self, number: int, *, coherence: bool) -> TopicCount | None:
        """The figures of a number of topics, if they are there, with coherence if that is asked for."""
        file = self._file(number)
        if not file.exists():
            return None
        try:
            kept = json.loads(file.read_bytes())
            measured = kept.pop(ASKED, kept["coherence"] is not None)
            cell = TopicCount(**kept)
        except (ValueError, TypeError, LookupError, AttributeError):
            raise ValueError(f"{file} is damaged; remove it, and the search makes it again") from None
        return cell if measured or not coherence else None

    def keep(self, cell: TopicCount, *, coherence: bool) -> None:
        """Write down the figures of one number of topics, and whether coherence was asked for: it may not be finite."""
        _write(self._file(cell.topics), asdict(cell) | {ASKED: coherence})
        self.checkpoint(cell.topics).unlink(missing_ok=True)

    def checkpoint(self, number: int) -> Path:
        """The checkpoint of the fit under way."""
        return self.path / f"topics-{number}.checkpoint"

    def _file(self, number: int) -> Path:
        return self.path / f"topics-{number}.json"


def _claim(path: Path, key: str) -> None:
    marker = path / MARKER
    if not marker.exists():
        if any(path.iterdir()):
            raise FileExistsError(f"{path} is a folder with other things in it; choose another name or remove it")
        _write(marker, {"format": FORMAT, "search": key})
        return
    try:
        about = json.loads(marker.read_bytes())
    except ValueError:
        about = None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"{marker} is damaged or not a search's; choose another folder")
    if about.get("search") != key:
        raise ValueError(
            f"{path} holds another search (another corpus, split or other settings): choose another folder"
        )


def _write(path: Path, content: dict[str, Any]) -> None:
    write_text(path, json.dumps(content, indent=2))
