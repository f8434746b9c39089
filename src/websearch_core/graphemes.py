"""Where a text may be cut: never inside of what people see as one character.

By the rules of UAX #29 (Unicode 15.1) as far as the standard library's data go; where in doubt, characters belong together. In
constant time for each place.
"""

from __future__ import annotations

import unicodedata

__all__ = ["LONGEST", "floor", "joined"]

LONGEST = 64
"""Code points of one seen character; a longer run of joining ones is an attack and is cut like text."""
_ZWJ = "\u200d"
_EXTENDING = frozenset("\u200c\ufe0e\ufe0f\uff9e\uff9f\u0e33\u0eb3" + _ZWJ)
"""Joining characters that are no marks by their category."""
_MARKS = frozenset({"Mn", "Me", "Mc"})
_LINKERS = frozenset("\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d")
"""Signs between the consonants of one conjunct, in the scripts that write conjuncts as one character."""


def joined(text: str, at: int) -> bool:
    """Whether the character at `at` belongs to the one before it; `at` lies inside of the text."""
    before, after = text[at - 1], text[at]
    if before == "\r":
        return after == "\n"
    if before < "\u0300" and after < "\u0300":
        return False
    return (
        _extends(after)
        or before == _ZWJ
        or _prepends(before)
        or _conjunct(text, at)
        or _hangul(before, after)
        or _flag(text, at)
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
    )


def floor(text: str, at: int) -> int:
    """The last place up to `at` where the text may be cut; `at` itself where the run before it joins without end."""
    place = at
    while 0 < place < len(text) and at - place < LONGEST and joined(text, place):
        place -= 1
    return at if at - place >= LONGEST else place


def _extends(character: str) -> bool:
    return (
        character in _EXTENDING
        or unicodedata.category(character) in _MARKS
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _prepends(character: str) -> bool:
    """Signs that stand before the number or letter which they belong to."""
    return (
        "\u0600" <= character <= "\u0605"
        or character
        in "\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd\U000111c2\U000111c3\U0001193f\U00011941\U00011a3a"
        or "\U00011a84" <= character <= "\U00011a89"
        or character in "\U00011d46\U00011f02"
    )


def _conjunct(text: str, at: int) -> bool:
    if not "\u0900" <= text[at] <= "\u0d7f" or unicodedata.category(text[at]) != "Lo":
        return False
    for place in range(at - 1, max(at - LONGEST, -1), -1):
        if text[place] in _LINKERS:
            return True
        if not _extends(text[place]):
            return False
    return False


def _hangul(before: str, after: str) -> bool:
    """A syllable made of letters: leading ones, then vowels, then trailing ones."""
    if "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97c":
        return "\u1100" <= after <= "\u11a7" or "\ua960" <= after <= "\ua97c" or "\uac00" <= after <= "\ud7c6"
    syllable = "\uac00" <= before <= "\ud7a3"
    vowel = "\u1160" <= before <= "\u11a7" or "\ud7b0" <= before <= "\ud7c6"
    if vowel or (syllable and (ord(before) - 0xAC00) % 28 == 0):
        return "\u1160" <= after <= "\u11ff" or "\ud7b0" <= after <= "\ud7fb"
    trailing = "\u11a8" <= before <= "\u11ff" or "\ud7cb" <= before <= "\ud7fb"
    return (trailing or syllable) and ("\u11a8" <= after <= "\u11ff" or "\ud7cb" <= after <= "\ud7fb")


def _flag(text: str, at: int) -> bool:
    """Two letters of a region make one flag; which two belong together is counted from the beginning of their run."""
    if not _regional(text[at]):
        return False
    count = 0
    while count < LONGEST and at - count > 0 and _regional(text[at - count - 1]):
        count += 1
    return count % 2 == 1


def _regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
