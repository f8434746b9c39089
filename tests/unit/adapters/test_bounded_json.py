"""JSON of others: what has too many values is refused before it is read, however it is written; long texts are not."""

from __future__ import annotations

import json

import pytest

from websearch_adapters import bounded_json
from websearch_adapters.bounded_json import MAX_VALUES, TooManyValues
from websearch_adapters.extract.public_api import json_of
from websearch_adapters.http import failures
from websearch_adapters.http.client import JsonReply
from websearch_adapters.http.sse import json_fields
from websearch_core.errors import BadReply

MANY = MAX_VALUES + 1


def listed(item: str, times: int) -> str:
    return '{"items": [' + ",".join([item] * times) + "]}"


HOSTILE = {
    "numbers": listed("0", MANY),
    "lists": listed("[]", MANY),
    "texts": listed('""', 3 * MANY),
    "names": "{" + ",".join(f'"{at}":0' for at in range(MANY)) + "}",
    "one inside of another": listed('{"a":{"a":[{}]}}', MANY // 4),
    "escapes between": listed(r'"\\","\""', MANY),
    "never closed": listed("0", MANY)[:-2] + ', "',
    "closed by nobody": '{"items": ' + "[0," * MANY,
}
LONG = {
    "commas": "1,2,3\n" * 300_000,
    "quotes": '"a", ["b"] {' * 100_000,
    "backslashes": "\\" * 1_000_001,
    "chinese": "步行桥，今日开放。" * 100_000,
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE)
class TestTooMany:
    def test_is_refused(self, document: str) -> None:
        with pytest.raises(TooManyValues, match="more than 100,000 values"):
            bounded_json.loads(document)

    def test_is_no_reply_of_a_provider(self, document: str) -> None:
        reader = JsonReply("tavily")
        reader.feed(document.encode())
        with pytest.raises(BadReply, match="more than 100,000 values") as caught:
            reader.close()
        assert (caught.value.provider, caught.value.diagnostics["error_type"]) == ("tavily", "invalid_response")

    def test_is_no_reply_of_a_public_api(self, document: str) -> None:
        with pytest.raises(BadReply, match="github: the reply holds more than 100,000 values"):
            json_of(document.encode(), reader="github")

    def test_is_no_event(self, document: str) -> None:
        assert json_fields(document) == {}


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_text_is_one_value_whatever_it_holds(text: str, ascii_only: bool) -> None:
    document = json.dumps({"body": text, "items": [0] * 1_000}, ensure_ascii=ascii_only)
    assert failures.json_object(document.encode(), provider="tavily")["body"] == text


def test_as_many_as_are_allowed_are_read() -> None:
    document = json.dumps([0.125] * (MAX_VALUES - 2))
    assert len(bounded_json.loads(document)) == MAX_VALUES - 2


@pytest.mark.parametrize("document", ["", "{", "[1,]", "[" * 100_000, "nul", '"' * 1_000_000])
def test_what_is_no_json_is_an_error_of_value(document: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        bounded_json.loads(document)
