"""The API of the Stack Exchange network, version 2.3: questions, answers and comments, with their text as HTML.

Shapes follow api.stackexchange.com as of 30 November 2026; the contents are our own. What surprises clients is kept: replies
are compressed whatever is accepted, titles and names come with entities, errors are 400 with an `error_id`, an unknown id is an
empty list, and a reply may carry `backoff`.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from upstreams.exchange import json_response
from upstreams.script import Script, Step
from upstreams.simulator import Refusal, Simulator

Json = dict[str, Any]
ASKED_AT = 1_793_000_000
SITES = frozenset({
    "stackoverflow.com", "meta.stackoverflow.com", "math.stackexchange.com", "math.meta.stackexchange.com", "mathoverflow.net",
})  # fmt: skip


class StackExchangeUpstream(Simulator):
    """`api.stackexchange.com/2.3`.

    Args:
        answers: how many answers each question has; number 1 has the most votes.
        accepted: the number of the accepted answer; 0 for none.
        comments: how many comments each answer has.
        title: of every question, as the API writes it.
        backoff_s: what every reply asks to wait; 0 for nothing.
    """

    def __init__(
        self,
        *,
        script: Script | Step | None = None,
        paths: dict[str, Script | Step] | None = None,
        answers: int = 3,
        accepted: int = 2,
        comments: int = 2,
        title: str = "How to write &lt;b&gt; &amp; &quot;x&quot;?",
        backoff_s: int = 0,
    ) -> None:
        super().__init__(script=script, paths=paths)
        self.answers = answers
        self.accepted = accepted
        self.comments = comments
        self.title = title
        self.backoff_s = backoff_s

    def error_body(self, status: int) -> object:
        return {"error_id": status, "error_message": f"status {status}", "error_name": "internal_error"}

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/2.3/questions/{number:int}", self._question),
            Route("/2.3/questions/{number:int}/answers", self._answers),
            Route("/2.3/answers/{ids}", self._by_id),
            Route("/2.3/answers/{number:int}/comments", self._comments),
        ]

    def answer_id(self, question: int, number: int) -> int:
        """The id of an answer of a question."""
        return question * 100 + number

    async def _question(self, request: Request) -> Response:
        number = request.path_params["number"]
        return self._wrapped(request, [] if number == 404 else [self._asked(number, request.query_params["site"])])

    async def _answers(self, request: Request) -> Response:
        question, most = request.path_params["number"], int(request.query_params.get("pagesize", "30"))
        found = [self._given(question, number) for number in range(1, self.answers + 1)]
        return self._wrapped(request, found[:most], more=len(found) > most)

    async def _by_id(self, request: Request) -> Response:
        ids = [int(one) for one in request.path_params["ids"].split(";")]
        return self._wrapped(request, [self._given(one // 100, one % 100) for one in ids if 0 < one % 100 <= self.answers])

    async def _comments(self, request: Request) -> Response:
        most = int(request.query_params.get("pagesize", "30"))
        found = [
            {
                "comment_id": at,
                "owner": {"display_name": f"Commenter {at}"},
                "creation_date": ASKED_AT + at,
                "score": at,
                "body": f"Comment {at} with <code>a &lt; b</code>",
            }
            for at in range(1, self.comments + 1)
        ]
        return self._wrapped(request, found[:most], more=len(found) > most)

    def _asked(self, number: int, site: str) -> Json:
        question: Json = {
            "question_id": number,
            "title": self.title,
            "link": f"https://{site}/questions/{number}/how-to",
            "owner": {"display_name": "Anna &amp; Bob"},
            "score": 7,
            "tags": ["html", "escaping"],
            "answer_count": self.answers,
            "is_answered": True,
            "creation_date": ASKED_AT,
            "body": "<p>I want <code>&lt;b&gt;</code> as <em>text</em>.</p>\n<pre><code>print(&quot;&lt;b&gt;&quot;)\n</code></pre>",
        }
        if self.accepted:
            question["accepted_answer_id"] = self.answer_id(number, self.accepted)
        return question

    def _given(self, question: int, number: int) -> Json:
        return {
            "answer_id": self.answer_id(question, number),
            "question_id": question,
            "owner": {"display_name": f"Answerer {number}"},
            "score": 100 - number,
            "is_accepted": number == self.accepted,
            "creation_date": ASKED_AT + 3_600 * number,
            "body": f"<p>Answer {number}: escape it.</p>",
        }

    def _wrapped(self, request: Request, items: list[Json], *, more: bool = False) -> Response:
        site = request.query_params.get("site", "")
        if site not in SITES:
            raise Refusal(
                json_response({"error_id": 400, "error_message": "No site found", "error_name": "bad_parameter"}, status=400)
            )
        if request.query_params.get("filter") != "withbody":
            items = [{name: value for name, value in item.items() if name != "body"} for item in items]
        reply: Json = {"items": items, "has_more": more, "quota_max": 300, "quota_remaining": 290}
        if self.backoff_s:
            reply["backoff"] = self.backoff_s
        body = gzip.compress(json.dumps(reply).encode())
        return Response(body, 200, {"content-encoding": "gzip"}, "application/json; charset=utf-8")
