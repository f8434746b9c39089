"""Questions with the depth and category that they must get, in English and Chinese."""

from __future__ import annotations

from typing import Literal

__all__ = ["REFERENCE"]

REFERENCE: tuple[tuple[str, Literal["fast", "standard", "deep"], str], ...] = (
    ("What is the capital of France?", "fast", "simple_fact"),
    ("法国的首都是哪里？", "fast", "simple_fact"),
    ("pathlib official docs", "fast", "single_official_document"),
    ("pathlib 官方文档", "fast", "single_official_document"),
    ("GitHub SDK migration error after the upgrade", "deep", "software_and_github"),
    ("GitHub SDK 迁移报错怎么办", "deep", "software_and_github"),
    ("squat with a knee injury while on a diet", "deep", "health_fitness_nutrition"),
    ("膝盖受伤还能深蹲吗，饮食怎么安排", "deep", "health_fitness_nutrition"),
    ("compare the crash tests of two family cars", "deep", "vehicle_safety"),
    ("对比两款车的碰撞测试", "deep", "vehicle_safety"),
    ("an obscure claim about tides, with counterexamples", "deep", "niche_or_evidence_sparse"),
    ("关于潮汐的冷门说法，有没有反例", "deep", "niche_or_evidence_sparse"),
    ("should I take out a mortgage at this interest rate", "deep", "financial_safety"),
    ("现在的利率适合房贷吗", "deep", "financial_safety"),
    ("latest release of a Python library", "deep", "time_sensitive"),
    ("这个 Python 库的最新版本", "deep", "time_sensitive"),
    ("How do I write a very plain letter to the owner of the small shop across the street from my house", "standard", ""),
    ("请问如何给住在街对面的那家小店的老板写一封语气平和内容简短而且不失礼貌的感谢信并且亲手送到他手里", "standard", ""),
    ("current weather in Oslo", "standard", "time_sensitive"),
    ("奥斯陆今天的天气", "standard", "time_sensitive"),
    ("how does a Rust compiler find lifetimes", "standard", "software_and_github"),
    ("is it true that goldfish forget after three seconds", "deep", "contested_or_limits_requested"),
    ("金鱼只有三秒记忆是真的吗", "deep", "contested_or_limits_requested"),
)
