"""The words for verdicts in reports and baselines of the schema before, and today's for them."""

import re
from typing import Any

# A theorem's factor was "supported" where no slower exponent was left, whether or not a faster one was.
_OF_FACTORS = re.compile(r"[\w-]+\.(rate|gradients)\..+")
NOW = {"supported": "not exceeded", "inconclusive": "untested", "not asymptotic": "untested"}
# A claim was "conditional" where a slip had to be put right, too, and where it rests on cited rates.
_SINCE = {"conditional": "conditional or misprint or proved"}


def word_now(id: str, words: Any) -> Any:
    """Return a verdict, or several with "or", of a report or baseline before in today's words."""
    if not isinstance(words, str) or not _OF_FACTORS.fullmatch(id):
        return words
    return " or ".join(dict.fromkeys(NOW.get(word, word) for word in words.split(" or ")))


def expected_now(id: str, words: Any) -> Any:
    """Return what a report or baseline before expected in today's words."""
    now = word_now(id, words)
    return _SINCE.get(now, now)
