"""What patterns of Java have and those of Python lack, for names of topics.

A topic name has few characters, so that each property of characters is a short list of them.
Source: ``java.util.regex.Pattern``; ``Topic.LEGAL_CHARS`` of Kafka 4.4.0.
"""

from __future__ import annotations

import re
import string
import unicodedata
from typing import Final

_LEGAL: Final = string.ascii_letters + string.digits + "._-"
_ILLEGAL: Final = " "

_TOKEN: Final = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)"
    r"|\\(?P<sign>[pP])(?:\{(?P<name>[^}]*)\}|(?P<letter>\w))"
    r"|\\."
    r"|(?P<begin>\[\^?\]?)"
    r"|(?P<end>\])"
    r"|(?P<both>&&)",
    re.DOTALL,
)

_CATEGORIES: Final = (
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe"),
    *("Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs", "Cn"),
)

_POSIX: Final = {
    "Alpha": string.ascii_letters,
    "Lower": string.ascii_lowercase,
    "Upper": string.ascii_uppercase,
    "Digit": string.digits,
    "Alnum": string.ascii_letters + string.digits,
    "XDigit": string.hexdigits,
    "Punct": string.punctuation,
    "Graph": _LEGAL,
    "Print": _LEGAL,
    "ASCII": _LEGAL,
    "Blank": "",
    "Space": "",
    "Cntrl": "",
}


def without_java(pattern: str) -> str:
    r"""Return a pattern without quotations (``\Q…\E``) and properties (``\p{L}``, ``\P{Alpha}``).

    It matches the same topic names. Raises ``re.error`` for an unknown property, and for a class
    within a class, which Java reads, and Python and RE2 otherwise.
    """
    parts, at, in_class = [], 0, False
    for token in _TOKEN.finditer(pattern):
        if in_class and (token["begin"] or token["both"]):
            raise re.error(
                f"{token[0]} in a class: Java reads a class within it there, other clients characters; "
                "list the characters in one class"
            )
        in_class = bool(token["begin"]) or (in_class and not token["end"])
        parts += [pattern[at : token.start()], _rewritten(token, in_class=in_class)]
        at = token.end()
    return "".join((*parts, pattern[at:]))


def _rewritten(token: re.Match[str], *, in_class: bool) -> str:
    if token["quoted"] is not None:
        return re.escape(token["quoted"])
    if not token["sign"]:
        return token[0]
    having = _having(token["name"] or token["letter"] or "", token[0])
    listed = "".join(each for each in _LEGAL if (each in having) == (token["sign"] == "p"))
    escaped = re.escape(listed or _ILLEGAL)
    return escaped if in_class else f"[{escaped}]"


def _having(name: str, given: str) -> str:
    """Return the characters that have a property, and are in names of topics or are not."""
    if name in _POSIX:
        return _POSIX[name]
    category = re.sub("^(Is|gc=|general_category=)", "", name)
    if category and any(each.startswith(category) for each in _CATEGORIES):
        return "".join(each for each in _LEGAL if unicodedata.category(each).startswith(category))
    posix = ", ".join(f"\\p{{{each}}}" for each in _POSIX)
    raise re.error(
        f"{given} is not supported; allowed are the general categories of Unicode, such as \\p{{L}}, "
        f"\\p{{Lu}}, \\p{{Nd}}, and {posix}"
    )
