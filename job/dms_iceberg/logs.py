"""Structured logs: one JSON object per line, or only errors on a terminal, where progress bars and tables show the rest."""

import logging
import sys

import structlog


def configure_logs(*, terminal: bool) -> None:
    """Send logs to standard error: as JSON from level info on, or readable from level error on with ``terminal``."""
    processors: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.typing.Processor = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*processors, structlog.processors.format_exc_info, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR if terminal else logging.INFO),
        # Looked up at each call: a test runner or notebook that replaces standard error closes the old one.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
