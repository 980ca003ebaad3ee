from __future__ import annotations

from collections.abc import Iterator

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository

COMMIT = "Retry sending with backoff"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    """An engine on a small repository with instructions, a context and one commit."""
    folder = tmp_path_factory.mktemp("tools")
    repository = TinyRepository(folder / "shop")
    repository.commit(
        COMMIT,
        {
            "shop/client.py": "def send():\n    return 1\n",
            "AGENTS.md": "Keep it short.\n",
            "context.yaml": (
                "metadata: {name: Shop}\nintent_context: {business_goal: Sell}\n"
                "injection_rules: [{name: files, when: {task_matches: Retry}, inject: ['files:shop/*.py']}]\n"
            ),
        },
    )
    environ = {"SATCHEL_HOME": str(folder / "home"), "SATCHEL_EMBED_PROVIDER": "off", "SATCHEL_KEY": "07" * 32}
    with Satchel.open(root=repository.root, environ=environ, settings={"tools.deadline_s": 60.0}) as opened:
        opened.index()
        yield opened
