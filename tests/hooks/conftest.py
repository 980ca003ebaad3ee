"""A session of a host in a small repository, and everything that hooks start in the background, written down."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.hooks import background, hosts, worker
from satchel.hooks.event_context import Answer
from satchel.system import telemetry
from tests.e2e.sample import sample_repository
from tests.hooks.recorded import event_word, recorded


@dataclass
class Host:
    """A host that tells events about one root.

    `started` are the background processes that would have been started, `given_way` by how much each that was run here
    would have lowered its priority: nothing gives that back to the process of the tests.
    """

    root: Path
    home: Path
    session: str = "session-1"
    started: list[list[str]] = field(default_factory=list)
    given_way: list[int] = field(default_factory=list)

    @property
    def state(self) -> Path:
        """The state folder."""
        return self.home / "state"

    def payload(self, name: str, **changed: Any) -> dict[str, Any]:
        """A recorded event of this session in this root."""
        sent = recorded(name, session_id=self.session, cwd=str(self.root), transcript_path=None)
        if "conversation_id" in sent:
            sent |= {"conversation_id": self.session, "workspace_roots": [str(self.root)]}
        return sent | changed

    def tell(self, name: str, **changed: Any) -> Answer:
        """What comes of a recorded event."""
        return self.told(name, **changed)[0]

    def told(self, name: str, **changed: Any) -> tuple[Answer, dict[str, Any]]:
        """What comes of a recorded event, and what the host reads; empty where it reads nothing."""
        kind = hosts.event_of(event_word(name))
        assert kind is not None
        event = hosts.read(self.payload(name, **changed), kind)
        answer, text = worker.answered(event, None, {"SATCHEL_HOME": str(self.home), "HOME": str(self.home)})
        assert text.count("\n") == 0
        return answer, json.loads(text) if text else {}

    def ask(self, prompt: str, **changed: Any) -> str:
        """The context that Claude Code gets with a prompt."""
        output = self.told("claude-code/prompt", prompt=prompt, **changed)[1]
        return str(output.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def engine(self) -> Satchel:
        """An engine over the root."""
        return Satchel.open(self.root, environ={"SATCHEL_HOME": str(self.home), "HOME": str(self.home)})

    def entries(self) -> list[dict[str, Any]]:
        """The hook log."""
        return telemetry.hook_entries(self.state)


@pytest.fixture
def new_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host in a repository that has no index yet."""
    host = Host(sample_repository(tmp_path / "shop").root, tmp_path / "home")
    monkeypatch.setenv("SATCHEL_HOME", str(host.home))
    monkeypatch.setattr(background, "start", lambda words, _state: host.started.append([*words]))
    monkeypatch.setattr(os, "nice", host.given_way.append)
    return host


@pytest.fixture
def host(new_host: Host) -> Host:
    """A host in a repository with an index."""
    with new_host.engine() as engine:
        engine.index()
    return new_host
