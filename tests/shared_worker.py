"""The processes that read documents, one worker for all tests that need nothing special of it."""

from __future__ import annotations

from websearch_adapters.extract.worker import Worker

__all__ = ["WORKER"]

WORKER = Worker()
"""Starts nothing before its first document; the tests' session closes it."""
