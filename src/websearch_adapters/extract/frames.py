"""What a worker process and its owner say to each other: frames of a JSON head and a body of bytes, over pipes."""

from __future__ import annotations

import json
import struct
from typing import IO, Any, TypeAlias

__all__ = ["Frame", "receive", "send"]

Frame: TypeAlias = tuple[dict[str, Any], bytes]
_SIZES = struct.Struct(">II")


def send(stream: IO[bytes], head: dict[str, Any], body: bytes = b"") -> None:
    """Write one frame.

    Raises:
        OSError: nobody reads any more.
    """
    text = json.dumps(head, ensure_ascii=True).encode("ascii")
    stream.write(_SIZES.pack(len(text), len(body)) + text)
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> Frame | None:
    """The next frame; None where the stream ended, also in the middle of one."""
    sizes = stream.read(_SIZES.size)
    if len(sizes) < _SIZES.size:
        return None
    head_bytes, body_bytes = _SIZES.unpack(sizes)
    head, body = stream.read(head_bytes), stream.read(body_bytes)
    return (json.loads(head), body) if len(head) == head_bytes and len(body) == body_bytes else None
