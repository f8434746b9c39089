"""Questions that people put to a search over tools, each with the tool that it is for, and 10,000 tools among which it is.

The tools that are asked for, and the questions, are written by hand in the words of their trades; no question was changed after
the search was measured with it. The rest is made of the same verbs and things, so that every question meets tools that share its
words.
"""

from __future__ import annotations

import itertools
import random
from typing import NamedTuple

from websearch_core.hub.values import UpstreamTool
from websearch_core.values import Json

__all__ = ["NAMES", "QUESTIONS", "tools"]


def words(text: str) -> tuple[str, ...]:
    """The words of a table."""
    return tuple(text.split())


class Wanted(NamedTuple):
    """A tool that is asked for."""

    upstream: str
    name: str
    about: str
    parameters: str
    questions: tuple[str, ...]


WANTED: tuple[Wanted, ...] = (
    Wanted("github", "create_issue", "Open a new issue in a GitHub repository.", "owner repo title body labels",
           ("open an issue in a github repository", "report a bug on GitHub", "create_issue github")),
    Wanted("github", "list_pull_requests", "List pull requests of a repository, filtered by state.", "owner repo state",
           ("show open pull requests of a repo", "which PRs are open: list pull requests")),
    Wanted("github", "merge_pull_request", "Merge a pull request by squash, rebase or merge commit.",
           "owner repo pull_number method",
           ("merging a pull request with squash", "merge pull request")),
    Wanted("slack", "post_message", "Send a message to a Slack channel or thread.", "channel text thread_ts",
           ("send a message to a slack channel", "post into Slack thread", "slack: posting messages")),
    Wanted("slack", "get_channel_history", "Read recent messages of a channel.", "channel limit",
           ("read the last messages in a slack channel", "history of a channel on slack")),
    Wanted("postgres", "run_query", "Run a read-only SQL query against the PostgreSQL database.", "sql",
           ("run an SQL query on postgres", "query the PostgreSQL database")),
    Wanted("postgres", "describe_table", "Columns, types and indexes of a database table.", "schema table",
           ("what columns does a database table have", "describe the table schema in postgres")),
    Wanted("filesystem", "read_multiple_files", "Read the contents of several files at once.", "paths",
           ("read several files at once", "contents of multiple files")),
    Wanted("filesystem", "move_file", "Move or rename a file or directory.", "source destination",
           ("rename a file", "move a directory somewhere else on the filesystem")),
    Wanted("weather", "get_forecast", "Weather forecast for a place for up to ten days.", "latitude longitude days",
           ("weather forecast for the next days", "will it rain tomorrow: weather forecast")),
    Wanted("weather", "get_alerts", "Active severe weather alerts of a state.", "state",
           ("severe weather alerts", "storm warnings: active weather alerts")),
    Wanted("calendar", "create_event", "Create a calendar event with attendees and a reminder.", "title start end attendees",
           ("schedule a calendar event with attendees", "put a meeting into my calendar: create event")),
    Wanted("calendar", "find_free_slots", "Find times at which all attendees are free.", "attendees duration_minutes",
           ("when are all attendees free", "find a free slot for a meeting")),
    Wanted("mail", "send_email", "Send an e-mail with attachments.", "to cc subject body attachments",
           ("send an email with an attachment", "e-mail somebody a file as attachment")),
    Wanted("mail", "search_inbox", "Search messages in the mailbox by sender, subject or date.", "query from after",
           ("search my mailbox by sender", "find e-mails in the inbox from last week by date")),
    Wanted("stripe", "create_refund", "Refund a charge, wholly or in part.", "charge amount reason",
           ("refund a charge", "give a customer money back for a stripe charge", "partial refund stripe")),
    Wanted("stripe", "list_invoices", "List invoices of a customer.", "customer status limit",
           ("invoices of a customer in stripe", "list unpaid stripe invoices")),
    Wanted("browser", "take_screenshot", "Take a screenshot of the page or of an element.", "selector full_page",
           ("take a screenshot of the page", "screenshot of a web page element")),
    Wanted("browser", "click_element", "Click an element on the page by a CSS selector.", "selector",
           ("click a button on the page by css selector", "clicking elements")),
    Wanted("translate", "translate_text", "Translate text between languages, detecting the source language.",
           "text target_language",
           ("translate text to another language", "translation of a sentence into German language")),
    Wanted("maps", "get_directions", "Directions between two places by car, bicycle, foot or transit.", "origin destination mode",
           ("directions from one place to another by bicycle", "driving directions between two places")),
    Wanted("maps", "geocode_address", "Turn a street address into coordinates.", "address",
           ("coordinates of a street address", "geocode an address")),
    Wanted("kubernetes", "list_pods", "List pods of a namespace with their status.", "namespace label_selector",
           ("list pods in a namespace", "status of kubernetes pods")),
    Wanted("kubernetes", "scale_deployment", "Set the number of replicas of a deployment.", "namespace name replicas",
           ("scale a deployment to five replicas", "number of replicas of a kubernetes deployment")),
    Wanted("sentry", "get_issue_stacktrace", "Stack trace and breadcrumbs of an error event.", "issue_id",
           ("stack trace of an error", "stacktrace of a sentry issue")),
    Wanted("notion", "append_blocks", "Append paragraphs, lists or headings to a Notion page.", "page_id blocks",
           ("append a paragraph to a notion page", "add text blocks to a page in Notion")),
    Wanted("notion", "query_database", "Query rows of a Notion database by filters and sorts.", "database_id filter sorts",
           ("query a notion database with a filter", "rows of a Notion database")),
    Wanted("jira", "transition_issue", "Move a Jira ticket to another status of its workflow.", "issue_key transition",
           ("move a jira ticket to another status", "transition a Jira issue to done")),
    Wanted("spotify", "start_playback", "Play a track, album or playlist on a device.", "uri device_id",
           ("play an album on my device", "start playing a playlist on spotify")),
    Wanted("pdf", "extract_pdf_tables", "Extract tables of a PDF document as CSV.", "path pages",
           ("extract tables from a PDF", "pdf tables to csv")),
    Wanted("image", "remove_background", "Remove the background of an image.", "image_url",
           ("remove the background from a picture image", "image without background")),
    Wanted("audio", "transcribe_audio", "Transcribe speech of an audio file to text with timestamps.", "file language",
           ("transcribe speech to text", "transcription of an audio recording with timestamps")),
    Wanted("stocks", "get_quote", "Latest price and volume of a stock by ticker symbol.", "ticker",
           ("latest stock price by ticker", "stock quote")),
    Wanted("flights", "search_flights", "Search flights between airports on a date.", "origin destination date cabin",
           ("flights between two airports on a date", "search for a flight to Paris airport")),
    Wanted("memory", "create_entities", "Create entities in the knowledge graph.", "entities",
           ("create entities in the knowledge graph", "remember a person as an entity in the knowledge graph")),
    Wanted("docker", "build_image", "Build a container image from a Dockerfile.", "context dockerfile tag",
           ("build a container image from a dockerfile", "docker image build")),
    Wanted("dns", "lookup_records", "Look up DNS records of a domain.", "domain record_type",
           ("look up dns records of a domain", "MX records of a domain name: dns lookup")),
    Wanted("feishu", "send_group_message", "向飞书群组发送消息。", "chat_id content",
           ("发送消息到飞书群", "飞书群组消息")),
    Wanted("amap", "weather_query", "查询指定城市的实时天气和天气预报。", "city",
           ("查询城市天气", "天气预报")),
    Wanted("bilibili", "search_videos", "按关键词搜索视频并返回播放量。", "keyword page",
           ("搜索视频", "按关键词找视频 播放量")),
)  # fmt: skip
FREE: tuple[tuple[str, str], ...] = (
    ("file a GitHub bug about the login page", "github__create_issue"),
    ("tell the team in slack that the build is broken", "slack__post_message"),
    ("what did people write in the slack channel today", "slack__get_channel_history"),
    ("count the rows of a table with SQL", "postgres__run_query"),
    ("rename report.txt to final.txt", "filesystem__move_file"),
    ("how warm will it be on Saturday, weather", "weather__get_forecast"),
    ("is there a severe storm coming, any weather warnings", "weather__get_alerts"),
    ("book a meeting with Anna in the calendar on Monday at ten", "calendar__create_event"),
    ("email the report to my boss", "mail__send_email"),
    ("pay back half of a stripe charge", "stripe__create_refund"),
    ("picture of what the web page looks like, a screenshot", "browser__take_screenshot"),
    ("say this sentence in another language: translate", "translate__translate_text"),
    ("how do I get from the hotel to the airport by transit", "maps__get_directions"),
    ("which pods crash in the production namespace", "kubernetes__list_pods"),
    ("more replicas for the web deployment", "kubernetes__scale_deployment"),
    ("where did the error happen, show the stack trace", "sentry__get_issue_stacktrace"),
    ("set the jira ticket to done", "jira__transition_issue"),
    ("play some jazz playlist", "spotify__start_playback"),
    ("get the tables out of this pdf", "pdf__extract_pdf_tables"),
    ("cut out the person, no background", "image__remove_background"),
    ("turn a voice recording into text with timestamps", "audio__transcribe_audio"),
    ("what is the ticker price of Apple stock", "stocks__get_quote"),
    ("cheap flights from Berlin to Rome in May", "flights__search_flights"),
    ("which mail server does a domain have, dns", "dns__lookup_records"),
    ("北京今天天气怎么样", "amap__weather_query"),
    ("在飞书里给群组发一条消息", "feishu__send_group_message"),
    ("找一些做菜的视频", "bilibili__search_videos"),
)
"""Put as people talk: with words beside those of the tool, and not with all of them."""
QUESTIONS: tuple[tuple[str, str], ...] = (
    *((question, f"{one.upstream}__{one.name}") for one in WANTED for question in one.questions),
    *FREE,
)
VERBS = words(
    """
    create list get update delete search send read find run query add remove move merge post describe extract convert
    upload download archive assign approve cancel close export import schedule validate summarize translate build scale
    append click start
    """
)
THINGS = words(
    """
    account alert album appointment asset attachment badge basket bookmark branch budget campaign card cart category
    channel charge claim cluster comment commit contact contract coupon course customer dashboard deal deployment device
    discount document domain employee endpoint entity event expense feature feed file flow folder form goal group image
    incident index inventory invoice item job key label lead lesson license link list location log machine meeting member
    message metric milestone model node note offer order page parcel patient payment permission photo pipeline plan
    playlist policy post price product profile project query queue quote record refund release reminder report repository
    request review role room rule run schedule score secret segment sensor service session shift shipment site slot
    snapshot space sprint stage stock store subscription survey table tag task team template test thread ticket token
    topic track transaction trip trigger user vault vehicle vendor version video volume vote warehouse webhook workflow
    workspace zone
    """
)
TRADES = words(
    """
    crm erp cms helpdesk hr payroll shop logistics clinic school bank insurance hotel fleet energy farm museum library
    newsroom studio lab factory airline railway port telecom cloud monitoring ci registry chat forum wiki drive tasks
    notes survey ads analytics seo social games sports fitness recipes events tickets estate legal tax audit research
    weatherlab mapserver mailer files db graph
    """
)
QUALIFIERS = (
    "by name", "by date and status", "of a team", "with its history",
    "as CSV", "in bulk", "with comments", "by owner",
    "for a customer", "in a region", "with attachments", "by tag", "since a date",
    "with permissions", "of the current user", "by keyword", "page by page",
)  # fmt: skip
PARAMETERS = words(
    """
    id name limit cursor filter status owner since until format fields page query region tags title body user_id channel
    date
    """
)
CHINESE = ("查询{}的状态。", "创建新的{}。", "列出所有{}并返回数量。", "删除指定的{}。", "搜索{}。")
CHINESE_THINGS = words(
    """
    订单 客户 城市 消息 视频 群组 文档 商品 库存 员工 会议 报告 发票 合同 课程
    """
)
NAMES = (*VERBS, *THINGS, "v2", "API", "2025", "é", "搜索", "x" * 30)


def tools(count: int) -> dict[str, list[UpstreamTool]]:
    """Upstream → its tools; `count` in all, the wanted ones among them, always the same."""
    chance = random.Random(11)
    found: dict[str, list[UpstreamTool]] = {}
    for one in WANTED:
        found.setdefault(one.upstream, []).append(_tool(one.name, one.about, one.parameters.split()))
    pairs = list(itertools.product(TRADES, VERBS, THINGS))
    chance.shuffle(pairs)
    for trade, verb, thing in pairs[: count - len(WANTED)]:
        found.setdefault(trade, []).append(_other(chance, verb, thing, trade))
    return found


def _other(chance: random.Random, verb: str, thing: str, trade: str) -> UpstreamTool:
    name = chance.choice([f"{verb}_{thing}", f"{verb}-{thing}s", f"{verb}{thing.title()}"])
    if chance.random() < 0.05:
        about = chance.choice(CHINESE).format(chance.choice(CHINESE_THINGS))
    else:
        other = chance.choice(THINGS)
        about = (
            f"{verb.title()} a {thing} {chance.choice(QUALIFIERS)} in the {trade}, {chance.choice(QUALIFIERS)}; see also {other}."
        )
    return _tool(name, about, chance.sample(PARAMETERS, k=chance.randint(1, 5)))


def _tool(name: str, about: str, parameters: list[str]) -> UpstreamTool:
    properties: dict[str, Json] = {one: {"type": "string"} for one in parameters}
    return UpstreamTool(name=name, description=about, input_schema={"type": "object", "properties": properties})
