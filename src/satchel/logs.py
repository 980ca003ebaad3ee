"""The log: to standard error, unless the program around satchel has set structlog up differently.

structlog is imported with the first line: it costs 0.1 s, and most processes write none.
"""

from __future__ import annotations

import sys
from typing import Any


def warning(event: str, **fields: Any) -> None:
    """Write one line that somebody should see. `exc_info=True` adds the exception that is being handled."""
    import structlog

    # Unconfigured, structlog writes to standard output, which belongs to the answer, and shows the values of all
    # variables with an exception: pages that may hold anything.
    logger = (
        structlog.get_logger()
        if structlog.is_configured()
        else structlog.wrap_logger(
            structlog.PrintLogger(sys.stderr),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=True),
                structlog.dev.ConsoleRenderer(
                    colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
                ),
            ],
        )
    )
    logger.warning(event, **fields)
