"""Values as tagged JSON bytes, and back: no pickle, nothing executed, nothing guessed.

The tag is the class' name and a version. What comes back is exactly a value of the asked class or nothing: an unknown tag, a
missing or additional field, a value of another type or a damaged byte all read as absent.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import types
from collections.abc import Hashable, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from websearch_core.errors import InvalidInput
from websearch_core.values import Secret

__all__ = ["VERSION", "decode", "encode", "name"]

T = TypeVar("T")
VERSION = 1
"""Raise it when the meaning of a field changes; a change of fields is noticed without."""


def encode(value: object) -> bytes:
    """UTF-8 JSON: `{"tag": "Page 1", "value": {…}}`.

    Raises:
        TypeError: not a dataclass value, or something in it is no plain value; a secret is never one.
        ValueError: a number in it is not finite, or it contains itself.
    """
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{type(value).__name__} is not a value that can be kept")
    text = json.dumps({"tag": _tag(type(value)), "value": _plain(value)}, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes, kind: type[T]) -> T | None:
    """The value of class `kind` that `data` holds, or None."""
    try:
        document = json.loads(data.decode("utf-8", "surrogatepass"))
        if not isinstance(document, dict) or document.get("tag") != _tag(kind):
            return None
        value = _built(document.get("value"), kind)
    except (TypeError, ValueError, KeyError, RecursionError, InvalidInput):
        return None
    return value if isinstance(value, kind) else None


def name(key: str) -> str:
    """The key's digest: any text is a legal key, and none of it can be read where it is kept."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _tag(kind: type) -> str:
    return f"{kind.__name__} {VERSION}"


def _plain(value: object) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):  # first, for most are
        return value
    if isinstance(value, Secret):
        raise TypeError("a secret is not kept")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {_name(key): _plain(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} is not a value that can be kept")


def _name(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError("names are text")
    return key


def _built(item: Any, hint: Any) -> Any:
    """`item` as the type that `hint` names. What is inside a mapping is plain JSON: there a tuple comes back as a list."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _built(item, inner[0])
    if origin in {Union, types.UnionType}:
        return _built_as_one_of(item, inner)
    if origin is Literal:
        return _checked(item, any(item == option and type(item) is type(option) for option in inner))
    if origin is tuple:
        return tuple(_built(part, inner[0]) for part in _checked(item, isinstance(item, list) and inner[1:] == (...,)))
    if dataclasses.is_dataclass(hint):
        return _built_value(item, hint)
    if hint is float:
        return float(_checked(item, type(item) in {int, float}))
    if hint in {object, Any}:
        return item
    if isinstance(origin, type):
        return _checked(item, isinstance(item, list if origin is list else dict) and issubclass(origin, (list, Mapping)))
    return _checked(item, type(item) is hint)


def _built_as_one_of(item: Any, options: tuple[Any, ...]) -> Any:
    for option in options:
        try:
            return _built(item, option)
        except TypeError:
            continue
    raise TypeError("fits none of the types")


def _built_value(item: Any, kind: Any) -> Any:
    hints = _hints(kind)
    _checked(item, isinstance(item, dict) and item.keys() == hints.keys())
    return kind(**{name: _built(item[name], hint) for name, hint in hints.items()})


def _checked(item: Any, fits: bool) -> Any:
    if not fits:
        raise TypeError("another type")
    return item


@functools.cache
def _hints(kind: Hashable) -> dict[str, Any]:
    assert isinstance(kind, type)
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: hints[one.name] for one in dataclasses.fields(kind)}
