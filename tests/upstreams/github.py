"""GitHub's REST API and its host of raw files, as far as a reader of public pages sees them.

Shapes follow docs.github.com (REST, version 2022-11-28) as of 30 November 2026; the contents are our own. Without a token a
client may ask a few times an hour and then gets 403, not 429; a private repository is 404 to everybody who may not see it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from upstreams.exchange import json_response
from upstreams.script import Script, Step
from upstreams.simulator import Keys, Refusal, Simulator

Json = dict[str, Any]
REPO = "/repos/{owner}/{name}"
README = "# Footbridge\n\nA small library that opens and closes bridges.\n\n```python\nimport footbridge\n```\n"
FILES = {
    "README.md": README,
    "src/bridge.py": 'def reopen() -> str:\n    """Open it again."""\n    return "open"\n',
    "docs/empty.md": " \n",
    "logo.png": "\x89PNG\r\n\x1a\n\x00\x00",
}


class GitHubUpstream(Simulator):
    """`api.github.com` and `raw.githubusercontent.com` in one.

    Args:
        keys: known tokens; others are 401.
        comments: how many comments an issue and a pull request have.
        remarks: how many review comments a pull request has.
        files: text by path, for the raw host and the contents endpoint, on every branch but those with a slash in the contents
            endpoint, which does not understand them.
        private: `owner/name` of repositories that only a token sees.
        keyless_limit: requests without a token before 403.
        readme: the whole README reply, in place of the one made of `files`.
    """

    def __init__(
        self,
        *,
        script: Script | Step | None = None,
        paths: dict[str, Script | Step] | None = None,
        keys: Keys | None = None,
        comments: int = 2,
        remarks: int = 2,
        files: Mapping[str, str] | None = None,
        private: str = "",
        keyless_limit: int = 60,
        readme: Json | None = None,
    ) -> None:
        super().__init__(script=script, paths=paths, keys=keys)
        self.comments = comments
        self.remarks = remarks
        self.files = dict(FILES if files is None else files)
        self.private = private
        self.keyless_left = keyless_limit
        self.readme = readme

    def error_body(self, status: int) -> object:
        return {"message": f"Status {status}", "documentation_url": "https://docs.github.com/rest", "status": str(status)}

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/rate_limit", self._rate),
            Route(f"{REPO}/issues/{{number:int}}", self._issue),
            Route(f"{REPO}/issues/{{number:int}}/comments", self._comments),
            Route(f"{REPO}/pulls/{{number:int}}", self._pull),
            Route(f"{REPO}/pulls/{{number:int}}/reviews", self._reviews),
            Route(f"{REPO}/pulls/{{number:int}}/comments", self._remarks),
            Route(f"{REPO}/releases/latest", self._release),
            Route(f"{REPO}/releases/tags/{{tag:path}}", self._release),
            Route(f"{REPO}/readme", self._readme),
            Route(f"{REPO}/contents/{{path:path}}", self._contents),
            Route("/{owner}/{name}/{rest:path}", self._raw),
        ]

    # ---- endpoints

    async def _rate(self, request: Request) -> Response:
        key = self.last.key
        limit, left = (5_000, 4_990) if key else (60, self.keyless_left)
        if key and self.keys is not None and key not in self.keys:
            raise _refused(401, "Bad credentials")
        return json_response({"resources": {}, "rate": {"limit": limit, "remaining": left, "reset": 1796083200, "used": 10}})

    async def _issue(self, request: Request) -> Response:
        repository = self._allowed(request)
        number = request.path_params["number"]
        if number == 404:
            raise _refused(404, "Not Found")
        return json_response(_issue(repository, number, comments=self.comments))

    async def _comments(self, request: Request) -> Response:
        self._allowed(request)
        return json_response([_comment(at) for at in range(1, min(self.comments, _size(request)) + 1)])

    async def _pull(self, request: Request) -> Response:
        repository = self._allowed(request)
        return json_response(_pull(repository, request.path_params["number"], comments=self.comments, remarks=self.remarks))

    async def _reviews(self, request: Request) -> Response:
        self._allowed(request)
        states = [("APPROVED", ""), ("CHANGES_REQUESTED", "Please add a test."), ("COMMENTED", "")]
        return json_response(
            [
                {
                    "id": at,
                    "user": {"login": f"reviewer{at}"},
                    "body": body,
                    "state": state,
                    "submitted_at": f"2026-11-0{at}T08:00:00Z",
                }
                for at, (state, body) in enumerate(states, 1)
            ]
        )

    async def _remarks(self, request: Request) -> Response:
        self._allowed(request)
        return json_response(
            [
                {
                    "id": at,
                    "user": {"login": "reviewer1"},
                    "path": "src/bridge.py",
                    "line": None if at == 2 else at,
                    "original_line": 40 + at,
                    "diff_hunk": "@@ -1 +1 @@",
                    "body": f"Remark {at}",
                    "created_at": "2026-11-04T08:00:00Z",
                }
                for at in range(1, min(self.remarks, _size(request)) + 1)
            ]
        )

    async def _release(self, request: Request) -> Response:
        repository, tag = self._allowed(request), request.path_params.get("tag", "v2.0.0")
        if tag == "missing":
            raise _refused(404, "Not Found")
        return json_response(
            {
                "html_url": f"https://github.com/{repository}/releases/tag/{tag}",
                "tag_name": tag,
                "name": f"Release {tag}",
                "draft": False,
                "prerelease": "rc" in tag,
                "created_at": "2026-10-01T08:00:00Z",
                "published_at": "2026-10-02T08:00:00Z",
                "author": {"login": "keeper"},
                "body": "## Changes\n\n- The bridge opens faster.",
                "assets": [
                    {
                        "name": "footbridge.tar.gz",
                        "size": 12_345,
                        "browser_download_url": f"https://github.com/{repository}/releases/download/{tag}/footbridge.tar.gz",
                    }
                ],
            }
        )

    async def _readme(self, request: Request) -> Response:
        repository = self._allowed(request)
        if self.readme is not None:
            return json_response(self.readme)
        name = next(iter(self.files))
        packed = base64.encodebytes(self.files[name].encode()).decode()
        page = f"https://github.com/{repository}/blob/{request.query_params.get('ref', 'main')}/{name}"
        return json_response(
            {"type": "file", "encoding": "base64", "name": name, "path": name, "content": packed, "html_url": page}
        )

    async def _contents(self, request: Request) -> Response:
        self._allowed(request)
        text = self.files.get(request.path_params["path"])
        if text is None:
            raise _refused(404, "Not Found")
        return Response(text.encode("latin-1", "replace"), 200, None, "application/vnd.github.raw+json; charset=utf-8")

    async def _raw(self, request: Request) -> Response:
        if self.last.key:
            raise _refused(400, "the raw host was sent a token")
        rest = str(request.path_params["rest"])
        if (
            request.path_params["owner"] == "repos"
            or f"{request.path_params['owner']}/{request.path_params['name']}" == self.private
        ):
            return PlainTextResponse("404: Not Found", 404)
        text = next((text for path, text in self.files.items() if rest.endswith(f"/{path}")), None)
        return (
            PlainTextResponse("404: Not Found", 404)
            if text is None
            else Response(text.encode("latin-1", "replace"), 200, None, "text/plain; charset=utf-8")
        )

    # ---- what is refused

    def _allowed(self, request: Request) -> str:
        key, repository = self.last.key, f"{request.path_params['owner']}/{request.path_params['name']}"
        if key is not None and self.keys is not None and key not in self.keys:
            raise _refused(401, "Bad credentials")
        if key is None:
            self.keyless_left -= 1
            if self.keyless_left < 0:
                raise _refused(403, "API rate limit exceeded for 192.0.2.1.", headers={"x-ratelimit-remaining": "0"})
        if repository == self.private and key is None:
            raise _refused(404, "Not Found")
        return repository


def _refused(status: int, message: str, *, headers: Mapping[str, str] | None = None) -> Refusal:
    body = {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
    return Refusal(json_response(body, status=status, headers=headers))


def _size(request: Request) -> int:
    """The page's size as the API takes it: 30 unless asked, 100 at most."""
    return min(int(request.query_params.get("per_page", "30")), 100)


def _issue(repository: str, number: int, *, comments: int) -> Json:
    issue: Json = {
        "number": number,
        "title": "The bridge does not close",
        "state": "closed",
        "state_reason": "not_planned",
        "html_url": f"https://github.com/{repository}/issues/{number}",
        "user": {"login": "walker"},
        "labels": [{"name": "bug"}, {"name": "river"}],
        "comments": comments,
        "created_at": "2026-11-01T08:00:00Z",
        "closed_at": "2026-11-05T08:00:00Z",
        "body": "It stays **open** after dusk.\n\n```\nbridge: stuck\n```",
    }
    if number >= 1_000:  # numbers of pull requests, which the issues endpoint knows too
        issue["pull_request"] = {"url": f"https://api.github.com/repos/{repository}/pulls/{number}"}
    return issue


def _comment(at: int) -> Json:
    return {"id": at, "user": {"login": f"user{at}"}, "body": f"Comment {at}", "created_at": "2026-11-02T08:00:00Z"}


def _pull(repository: str, number: int, *, comments: int, remarks: int) -> Json:
    return {
        "number": number,
        "title": "Close the bridge at dusk",
        "state": "closed",
        "draft": False,
        "merged": number % 2 == 0,
        "merged_at": "2026-11-06T08:00:00Z" if number % 2 == 0 else None,
        "merged_by": {"login": "keeper"} if number % 2 == 0 else None,
        "html_url": f"https://github.com/{repository}/pull/{number}",
        "user": {"login": "builder"},
        "labels": [],
        "base": {"ref": "main", "label": f"{repository.partition('/')[0]}:main"},
        "head": {"ref": "dusk", "label": "builder:dusk"},
        "additions": 12,
        "deletions": 3,
        "changed_files": 2,
        "comments": comments,
        "review_comments": remarks,
        "created_at": "2026-11-03T08:00:00Z",
        "body": "Closes it.",
    }
