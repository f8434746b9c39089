"""How thorough a question wants to be answered, judged by its words in English and Chinese. No model, no network.

ASCII words count as whole words, phrases and Chinese as parts of the text. The tables are data: a category is its words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

__all__ = ["CATEGORIES", "Depth", "Judgement", "judged"]

Depth: TypeAlias = Literal["fast", "standard", "deep"]
SHORT_WORDS = 12
CJK_PER_WORD = 1.7
"""Characters of a Chinese word on average; a run of Chinese is not one word."""

WORDS: dict[str, tuple[str, ...]] = {
    "time_sensitive": (
        "latest", "current", "currently", "newest", "recent", "recently", "today", "now", "this week",
        "this month", "this year",
        "up to date", "breaking", "news", "price", "release date", "最新", "当前", "目前", "现在", "今天", "今年",
        "近期", "最近", "本周",
        "本月", "新闻", "实时", "价格",
    ),
    "software_and_github": (
        "github", "gitlab", "sdk", "api", "library", "framework", "package", "repo", "repository", "npm", "pypi",
        "pip", "docker",
        "kubernetes", "python", "javascript", "typescript", "rust", "golang", "java", "react", "django",
        "compiler", "linux",
        "pull request", "changelog", "软件", "框架", "代码", "仓库", "开源", "编程", "接口", "依赖", "版本库",
    ),
    "health_fitness_nutrition": (
        "injury", "knee", "squat", "deadlift", "diet", "nutrition", "calorie", "protein", "workout",
        "training plan", "symptom",
        "disease", "medication", "drug", "dose", "dosage", "vaccine", "surgery", "rehab", "supplement", "受伤",
        "膝盖", "深蹲", "硬拉", "饮食",
        "营养", "热量", "蛋白质", "健身", "症状", "疾病", "药物", "剂量", "疫苗", "手术", "康复", "补剂",
    ),
    "vehicle_safety": (
        "crash test", "crash tests", "iihs", "nhtsa", "euro ncap", "ancap", "airbag", "collision", "car safety",
        "safety rating",
        "碰撞测试", "碰撞", "中保研", "安全气囊", "汽车安全", "安全评级",
    ),
    "financial_safety": (
        "invest", "investment", "stock", "stocks", "mortgage", "loan", "tax", "pension", "insurance", "crypto",
        "bitcoin", "interest rate",
        "投资", "股票", "基金", "房贷", "贷款", "税", "养老金", "保险", "加密货币", "比特币", "利率",
    ),
    "comparison": (
        "compare", "compared", "comparison", "versus", "vs", "better than", "difference between",
        "differences between", "pros and cons",
        "which is better", "trade-off", "tradeoffs", "比较", "对比", "区别", "优缺点", "哪个好", "孰优", "差异",
    ),
    "contested_or_limits_requested": (
        "controversy", "controversial", "disputed", "debunk", "counterexample", "counterexamples", "criticism",
        "limitations", "myth",
        "evidence against", "is it true", "争议", "反例", "质疑", "局限", "辟谣", "真的吗", "是否属实", "反对意见",
    ),
    "niche_or_evidence_sparse": (
        "obscure", "niche", "little known", "little-known", "rare", "folklore", "unverified", "冷门", "小众",
        "罕见", "鲜为人知", "未经证实", "民间",
    ),
    "single_official_document": (
        "official docs", "official documentation", "official document", "official site", "man page",
        "specification", "rfc", "官方文档",
        "官网", "官方网站", "官方说明", "标准原文", "规范原文",
    ),
    "technical_difficulty": (
        "error", "errors", "exception", "traceback", "migration", "migrate", "upgrade", "breaking change",
        "deprecated", "deadlock",
        "memory leak", "race condition", "performance", "crash", "fails", "bug", "报错", "错误", "异常", "迁移",
        "升级", "弃用", "死锁",
        "内存泄漏", "性能", "崩溃", "失败", "兼容",
    ),
}  # fmt: skip
CATEGORIES = (*(name for name in WORDS if name != "technical_difficulty"), "simple_fact")
ALWAYS_DEEP = frozenset(
    {
        "health_fitness_nutrition",
        "vehicle_safety",
        "financial_safety",
        "comparison",
        "contested_or_limits_requested",
        "niche_or_evidence_sparse",
    }
)
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A question's depth and the categories that led to it."""

    depth: Depth
    categories: tuple[str, ...]
    fresh: bool
    """Whether the question asks for what holds now."""


def judged(question: str) -> Judgement:
    """The depth that the question's words ask for."""
    found = [name for name in WORDS if _pattern(name).search(question.casefold())]
    software, fresh = "software_and_github" in found, "time_sensitive" in found
    hard = software and (fresh or "technical_difficulty" in found)
    if hard or ALWAYS_DEEP & set(found):
        depth: Depth = "deep"
    elif "single_official_document" in found or (_words(question) <= SHORT_WORDS and not software and not fresh):
        depth = "fast"
    else:
        depth = "standard"
    shown = tuple(name for name in found if name != "technical_difficulty")
    return Judgement(depth=depth, categories=shown or (("simple_fact",) if depth == "fast" else ()), fresh=fresh)


def _words(question: str) -> float:
    """Words of a question, Chinese counted by its characters."""
    return len(CJK.findall(question)) / CJK_PER_WORD + len(re.findall(r"[^\W_]+", CJK.sub(" ", question)))


@cache
def _pattern(category: str) -> re.Pattern[str]:
    parts = (rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word) for word in WORDS[category])
    return re.compile("|".join(parts))
