"""Which addresses the readers of single sites answer for, and which look alike and are not theirs."""

from __future__ import annotations

import pytest

from websearch_adapters.extract import arxiv, github, stackexchange, wikipedia
from websearch_adapters.extract.github import Target

GITHUB = "https://github.com/acme/foot-bridge.js"


def repository(kind: github.Kind, *, number: int = 0, ref: str = "", path: str = "") -> Target:
    return Target(kind=kind, owner="acme", repository="foot-bridge.js", number=number, ref=ref, path=path)


@pytest.mark.requirement("RS-SPECIALIST-01")
@pytest.mark.parametrize(
    ("url", "target"),
    [
        (GITHUB, repository("readme")),
        (f"{GITHUB}.git", repository("readme")),
        (f"{GITHUB}/?tab=readme-ov-file#install", repository("readme")),
        ("http://WWW.GitHub.com/acme/foot-bridge.js/", repository("readme")),
        (f"{GITHUB}/tree/main", repository("readme", ref="main")),
        (f"{GITHUB}/issues/7", repository("issue", number=7)),
        (f"{GITHUB}/issues/7/#issuecomment-99", repository("issue", number=7)),
        (f"{GITHUB}/pull/12", repository("pull", number=12)),
        (f"{GITHUB}/releases/latest", repository("release")),
        (f"{GITHUB}/releases/tag/v1.0.0-rc.1", repository("release", ref="v1.0.0-rc.1")),
        (f"{GITHUB}/releases/tag/pkg%2Fv2", repository("release", ref="pkg/v2")),
        (f"{GITHUB}/releases/tag/pkg/v2", repository("release", ref="pkg/v2")),
        (f"{GITHUB}/blob/main/src/a%20b.py?plain=1#L3-L9", repository("file", ref="main", path="src/a b.py")),
        (f"{GITHUB}/raw/main/a.py", repository("file", ref="main", path="a.py")),
        ("https://raw.githubusercontent.com/acme/foot-bridge.js/main/a.py", repository("file", ref="main", path="a.py")),
        (
            "https://raw.githubusercontent.com/acme/foot-bridge.js/refs/heads/main/a.py",
            repository("file", ref="main", path="a.py"),
        ),
    ],
)
def test_github_knows_its_five_kinds(url: str, target: Target) -> None:
    assert github.target_of(url) == target


@pytest.mark.requirement("RS-SPECIALIST-01")
@pytest.mark.parametrize(
    "url",
    [
        "https://github.com",
        "https://github.com/acme",
        "https://github.com/topics/bridge",
        "https://github.com/orgs/acme",
        "https://github.com/marketplace/actions",
        "https://github.com/sponsors/acme",
        "https://github.com/acme/..",
        f"{GITHUB}/issues",
        f"{GITHUB}/issues/new",
        f"{GITHUB}/issues/7/events",
        f"{GITHUB}/issues/0",
        f"{GITHUB}/issues/7a",
        f"{GITHUB}/issues/７",
        f"{GITHUB}/pulls",
        f"{GITHUB}/pull/12/files",
        f"{GITHUB}/pull/12.diff",
        f"{GITHUB}/releases",
        f"{GITHUB}/releases/download/v1/a.tar.gz",
        f"{GITHUB}/tree/main/src",
        f"{GITHUB}/blob/main",
        f"{GITHUB}/blob/main/../../../rate_limit",
        f"{GITHUB}/blob/main/%2e%2e/%2e%2e/x",
        f"{GITHUB}/discussions/3",
        f"{GITHUB}/wiki",
        "https://github.com:8443/acme/bridge",
        "https://gist.github.com/acme/0123",
        "https://api.github.com/repos/acme/bridge",
        "https://github.com.evil.example/acme/bridge",
        "https://notgithub.com/acme/bridge",
        "https://evil.example/github.com/acme/bridge",
        "https://github.com@evil.example/acme/bridge",
        "https://raw.githubusercontent.com/acme/bridge/main",
    ],
)
def test_github_declines_what_looks_alike(url: str) -> None:
    assert github.target_of(url) is None


@pytest.mark.requirement("RS-SPECIALIST-01")
@pytest.mark.parametrize(
    ("url", "site", "question", "answer"),
    [
        ("https://stackoverflow.com/questions/11", "stackoverflow.com", 11, 0),
        ("https://www.stackoverflow.com/questions/11/how-to?rq=1", "stackoverflow.com", 11, 0),
        ("https://stackoverflow.com/questions/11/how-to/22#22", "stackoverflow.com", 11, 22),
        ("https://stackoverflow.com/questions/11/how-to#22", "stackoverflow.com", 11, 22),
        ("https://stackoverflow.com/q/11", "stackoverflow.com", 11, 0),
        ("https://stackoverflow.com/q/11/4711", "stackoverflow.com", 11, 0),
        ("https://stackoverflow.com/a/22", "stackoverflow.com", 0, 22),
        ("https://stackoverflow.com/a/22/4711", "stackoverflow.com", 0, 22),
        ("https://pt.stackoverflow.com/questions/11/x", "pt.stackoverflow.com", 11, 0),
        ("https://pt.meta.stackoverflow.com/questions/11/x", "pt.meta.stackoverflow.com", 11, 0),
        ("https://meta.stackoverflow.com/questions/11/x", "meta.stackoverflow.com", 11, 0),
        ("https://meta.superuser.com/questions/11/x", "meta.superuser.com", 11, 0),
        ("https://mathoverflow.net/questions/11/x", "mathoverflow.net", 11, 0),
        ("https://meta.mathoverflow.net/questions/11/x", "meta.mathoverflow.net", 11, 0),
        ("https://math.stackexchange.com/questions/11/x", "math.stackexchange.com", 11, 0),
        ("https://math.meta.stackexchange.com/questions/11/x", "math.meta.stackexchange.com", 11, 0),
        ("https://meta.math.stackexchange.com/questions/11/x", "math.meta.stackexchange.com", 11, 0),
        ("https://meta.stackexchange.com/questions/11/x", "meta.stackexchange.com", 11, 0),
    ],
)
def test_stack_exchange_knows_questions_and_answers_of_every_site(url: str, site: str, question: int, answer: int) -> None:
    assert stackexchange.target_of(url) == stackexchange.Target(site=site, question=question, answer=answer)


@pytest.mark.requirement("RS-SPECIALIST-01")
@pytest.mark.parametrize(
    "url",
    [
        "https://stackoverflow.com/",
        "https://stackoverflow.com/questions",
        "https://stackoverflow.com/questions/tagged/python",
        "https://stackoverflow.com/questions/ask",
        "https://stackoverflow.com/questions/11/x/timeline",
        "https://stackoverflow.com/questions/11/x/22/more",
        "https://stackoverflow.com/users/11/somebody",
        "https://stackoverflow.com/tags/11",
        "https://stackexchange.com/questions/11",
        "https://chat.stackexchange.com/questions/11",
        "https://api.stackexchange.com/questions/11",
        "https://area51.stackexchange.com/questions/11",
        "https://chat.stackoverflow.com/questions/11",
        "https://stackoverflow.blog/questions/11",
        "https://stackoverflow.com.evil.example/questions/11",
        "https://notstackoverflow.com/questions/11",
        "https://stackoverflow.com:444/questions/11",
        "https://a.b.stackexchange.com/questions/11",
    ],
)
def test_stack_exchange_declines_what_looks_alike(url: str) -> None:
    assert stackexchange.target_of(url) is None


@pytest.mark.requirement("RS-SPECIALIST-01")
@pytest.mark.parametrize(
    ("url", "identifier"),
    [
        ("https://arxiv.org/abs/2606.01234", "2606.01234"),
        ("https://arxiv.org/abs/2606.01234v2", "2606.01234v2"),
        ("http://www.arxiv.org/pdf/2606.01234v2.pdf", "2606.01234v2"),
        ("https://arxiv.org/pdf/2606.01234", "2606.01234"),
        ("https://export.arxiv.org/abs/0704.0001", "0704.0001"),
        ("https://arxiv.org/abs/hep-th/9901001", "hep-th/9901001"),
        ("https://arxiv.org/abs/math.GT/0309136v1", "math.GT/0309136v1"),
        ("https://arxiv.org/abs/hep-th%2F9901001", "hep-th/9901001"),
    ],
)
def test_arxiv_knows_papers(url: str, identifier: str) -> None:
    assert arxiv.paper_id(url) == identifier


@pytest.mark.requirement("RS-SPECIALIST-01")
@pytest.mark.parametrize(
    "url",
    [
        "https://arxiv.org/",
        "https://arxiv.org/list/cs.CL/recent",
        "https://arxiv.org/abs/",
        "https://arxiv.org/abs/2606",
        "https://arxiv.org/abs/2606.01234v0",
        "https://arxiv.org/abs/2606.01234.pdf",
        "https://arxiv.org/abs/2606.01234/../x",
        "https://arxiv.org/abs/2606.01234&max_results=100",
        "https://arxiv.org/html/2606.01234",
        "https://info.arxiv.org/abs/2606.01234",
        "https://arxiv.org.evil.example/abs/2606.01234",
        "https://notarxiv.org/abs/2606.01234",
    ],
)
def test_arxiv_declines_what_looks_alike(url: str) -> None:
    assert arxiv.paper_id(url) == ""


@pytest.mark.requirement("RS-SPECIALIST-01", "RS-SPECIALIST-05")
@pytest.mark.parametrize(
    ("url", "language", "title", "variant"),
    [
        ("https://en.wikipedia.org/wiki/Footbridge", "en", "Footbridge", ""),
        ("https://en.m.wikipedia.org/wiki/Foot_bridge#Load", "en", "Foot bridge", ""),
        ("https://simple.wikipedia.org/wiki/Footbridge", "simple", "Footbridge", ""),
        ("https://zh-min-nan.wikipedia.org/wiki/X", "zh-min-nan", "X", ""),
        ("https://zh.wikipedia.org/wiki/%E8%A1%8C%E4%BA%BA%E6%A1%A5", "zh", "行人桥", ""),
        ("https://zh.wikipedia.org/wiki/行人桥", "zh", "行人桥", ""),
        ("https://zh.wikipedia.org/zh-tw/行人桥", "zh", "行人桥", "zh-tw"),
        ("https://en.wikipedia.org/wiki/AC/DC", "en", "AC/DC", ""),
        ("https://en.wikipedia.org/wiki/2001:_A_Space_Odyssey", "en", "2001: A Space Odyssey", ""),
        ("https://en.wikipedia.org/wiki/2001%3A_A_Space_Odyssey", "en", "2001: A Space Odyssey", ""),
        ("https://en.wikipedia.org/w/index.php?title=Footbridge", "en", "Footbridge", ""),
        ("https://en.wikipedia.org/wiki/100%25", "en", "100%", ""),
    ],
)
def test_wikipedia_knows_articles_in_every_language(url: str, language: str, title: str, variant: str) -> None:
    assert wikipedia.target_of(url) == wikipedia.Target(language=language, title=title, variant=variant)


@pytest.mark.requirement("RS-SPECIALIST-01")
@pytest.mark.parametrize(
    "url",
    [
        "https://www.wikipedia.org/wiki/Footbridge",
        "https://wikipedia.org/wiki/Footbridge",
        "https://en.wikipedia.org/",
        "https://en.wikipedia.org/wiki/",
        "https://en.wikipedia.org/wiki/Talk:Footbridge",
        "https://en.wikipedia.org/wiki/tALK:Footbridge",
        "https://en.wikipedia.org/wiki/Talk%3AFootbridge",
        "https://en.wikipedia.org/wiki/Talk%253AFootbridge",
        "https://en.wikipedia.org/wiki/User_talk:Somebody",
        "https://en.wikipedia.org/wiki/User__talk:Somebody",
        "https://en.wikipedia.org/wiki/:File:Bridge.jpg",
        "https://en.wikipedia.org/wiki/Special:Random",
        "https://de.wikipedia.org/wiki/Datei:Br%C3%BCcke.jpg",
        "https://ru.wikipedia.org/wiki/%D0%A4%D0%B0%D0%B9%D0%BB:X.jpg",
        "https://en.wikipedia.org/w/index.php?title=Category:Bridges",
        "https://en.wikipedia.org/w/index.php?title=Footbridge&action=edit",
        "https://en.wikipedia.org/w/index.php?curid=12",
        "https://en.wikipedia.org/wiki/Footbridge?oldid=12",
        "https://en.wikipedia.org/wiki/%E8",
        "https://en.wikipedia.org/de-at/Footbridge",
        "https://commons.wikimedia.org/wiki/Footbridge",
        "https://en.wikipedia.org.evil.example/wiki/Footbridge",
        "https://en.notwikipedia.org/wiki/Footbridge",
    ],
)
def test_wikipedia_declines_what_is_no_article(url: str) -> None:
    assert wikipedia.target_of(url) is None
