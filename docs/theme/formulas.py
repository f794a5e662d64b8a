"""Formulas in the plain letters of the source, such as ``mu^2 = sum_b |f_b|^2/s_b^2``, as MathML: no script is needed.

The pages of mathematics are written in the symbols of the code, so that they can be read in any editor. `rendered`
turns what looks like mathematics in a page's HTML into MathML; nothing but its looks changes.
"""

from __future__ import annotations

import re
from functools import cache

from bs4 import BeautifulSoup, NavigableString, Tag
from latex2mathml.converter import convert

GREEK = frozenset(
    [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "rho",
        "sigma",
        "tau",
        "phi",
        "psi",
        "omega",
        "Gamma",
        "Delta",
        "Lambda",
        "Sigma",
        "Phi",
        "Psi",
        "Omega",
    ]
)
SHORT = {"eps": r"\varepsilon", "epsilon": r"\varepsilon", "phi": r"\varphi"}
FUNCTIONS = frozenset(
    [
        "log",
        "exp",
        "max",
        "min",
        "sup",
        "inf",
        "cos",
        "sin",
        "tr",
        "det",
        "diag",
        "sign",
        "floor",
        "fl",
        "clip",
        "erf",
        "erfc",
        "cosh",
        "tanh",
        "Var",
        "Cov",
    ]
)
LARGE = {"sum": r"\sum", "prod": r"\prod"}
SIGNS = {
    "<=": r"\le", ">=": r"\ge", "!=": r"\ne", ":=": ":=", "->": r"\to", "+-": r"\pm", "...": r"\dots", "~": r"\sim",
    "%": r"\%", "<": "<", ">": ">", "=": "=", "+": "+", "-": "-", "/": "/", "*": r"\ast ", "|": "|", ",": ",",
    "(": "(", ")": ")", "[": "[", "]": "]", "{": r"\{", "}": r"\}", ".": r"\cdot ", ";": ";", ":": ":", "!": "!",
}  # fmt: skip
NAMES = frozenset(["sum", "log", "exp", "max", "min", "sqrt", "sup"])
"""Names that are words as well."""
SMALL = frozenset(["an", "as", "at", "be", "by", "if", "in", "is", "it", "no", "of", "on", "or", "so", "to", "we"])
"""Words that are no mathematics, in brackets either."""
JOINING = frozenset(["<=", ">=", "!=", ":=", "->", "+-", "=", "+", "-", "/", "<", ">", "~"])
"""Signs that make mathematics of what stands on either side of them."""

BREAKS = frozenset(["<=", ">=", ":=", "=", "+", "-", "<", ">"])
MOST = 24
"""Letters of a formula that is not broken."""

_KNOWN = "|".join(sorted({*GREEK, *FUNCTIONS, *LARGE, "eps", "sqrt"}, key=len, reverse=True))
_ATOM = rf"(?:(?:{_KNOWN})(?![a-z])|[A-Za-z](?![A-Za-z]))"
_STRONG = re.compile(
    rf"^[(\[|]*-?(?:\d+(?:\.\d+)?)?[(\[|]*{_ATOM}(?:[\d_^'(\[|/).,\]+:;=-]|$)"
    r"|^\+-\w|^\(?\d+/[A-Za-z(|]|^[A-Za-z]+_[A-Za-z+{(]|\d\^|^[)\]}]?[\^_|]|\)\^|\)/\(?[\w]|^\|"
)
_NUMBER = re.compile(r"^[(\[|]*-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?:/\d+)?[)\]|]*[.,;:]?$")
_LETTER = re.compile(r"^[(\[]*[aAI][)\]]*[.,;:]?$")
_NOT = re.compile(r"^[(]?(?:(?!mu-|eps-)[A-Za-z]{2,}-[A-Za-z]{2,}|E\d+|[a-z]{2,}/[a-z]{2,})\W*$|^\(?\[[A-Z]\]")
_INITIAL = re.compile(r"^\(?[A-Z]\.(?:-[A-Z]\.)?$")
_SECTION = re.compile(r"^\d+\.\d+$")
_TOKEN = re.compile(
    r"\s+|\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?|[A-Za-z]+|<=|>=|!=|:=|->|\+-|\.\.\.|[_^'{}()\[\]|<>=+*/~%.,;:!-]|."
)


def rendered(html: str) -> str:
    """The page with MathML in the place of plain formulas; blocks that are indented stand by themselves."""
    soup = BeautifulSoup(html, "html.parser")
    for block in soup.select("pre.formula"):
        block.replace_with(BeautifulSoup(displayed(block.get_text()), "html.parser"))
    for text in list(soup.find_all(string=True)):
        if isinstance(text, NavigableString) and not _inside(text):
            made = "".join(_inline(piece, math) for piece, math in pieces(str(text)))
            if "<math" in made:
                text.replace_with(BeautifulSoup(made, "html.parser"))
    return str(soup)


def _inside(text: NavigableString) -> bool:
    names = {parent.name for parent in text.parents if isinstance(parent, Tag)}
    return bool(names & {"code", "pre", "math", "script", "style", "svg"})


def _inline(piece: str, math: bool) -> str:
    return mathml(piece) if math else piece.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def displayed(block: str) -> str:
    """A block of formulas, a line each."""
    return "".join(
        f'<div class="formula">{mathml(line, display="block")}</div>' for line in block.strip("\n").split("\n")
    )


@cache
def mathml(formula: str, display: str = "inline") -> str:
    """A formula as MathML; words in a line of its own stay words."""
    if display == "inline":
        return " ".join(_converted(latex(part), display) for part in lines(formula))
    parts = [latex(piece) if math else rf"\text{{{piece}}}" for piece, math in pieces(formula.strip().rstrip("."))]
    return _converted(" ".join(parts), display)


def _converted(text: str, display: str) -> str:
    """LaTeX as MathML; bars have no room beside them."""
    return re.sub(
        r"<mo[^>]*>&#x0007C;</mo>",
        '<mo stretchy="false" lspace="0" rspace="0">|</mo>',
        str(convert(text, display=display)),
    )


def lines(formula: str) -> list[str]:
    """A long formula in parts, between which a line may end: before a sign that stands in no bracket.

    Examples
    --------
    >>> lines("mu^2 = a + b <= 2 (a + b + c)")
    ['mu^2', '= a', '+ b', '<= 2 (a + b + c)']
    """
    words = formula.split(" ")
    parts, depth = [words[0]], _depth(words[0])
    for word in words[1:]:
        breaks = len(formula) > MOST and depth == 0 and word in BREAKS
        parts += [word] if breaks else []
        parts[-1] += "" if breaks else f" {word}"
        depth += _depth(word)
    return parts


def _depth(word: str) -> int:
    """How many brackets a word opens."""
    return sum(word.count(sign) for sign in "([{") - sum(word.count(sign) for sign in ")]}")


def pieces(text: str) -> list[tuple[str, bool]]:
    """The text in turn: (words, False) and (formula, True)."""
    words = re.findall(r"\s+|\S+", text)
    kinds = _kinds([word for word in words if not word.isspace()])
    found: list[tuple[str, bool]] = []
    index, depth = 0, 0
    for word in words:
        if word.isspace():
            found.append(
                (word, bool(found) and found[-1][1] and (depth > 0 or not found[-1][0].endswith((".", ",", ";", ":"))))
            )
            continue
        math = kinds[index] or (depth > 0 and not _is_word(word))
        depth = max(0, depth + _depth(word)) if math else 0
        found.append((word, math))
        index += 1
    return _joined(found)


def _kinds(words: list[str]) -> list[bool]:
    """Which words are mathematics, by themselves and by their neighbours."""
    signs = [word.rstrip(",") in JOINING for word in words]
    strong = [sign or _is_strong(word) for word, sign in zip(words, signs, strict=True)]
    for i, word in enumerate(words[:-1]):
        if _INITIAL.match(word) and words[i + 1].istitle() and not (i and strong[i - 1]):
            strong[i] = False
    for i, word in enumerate(words):
        beside = any(signs[max(i - 1, 0) : i + 2])
        following = i + 1 < len(words) and strong[i + 1] and word[-1] not in ".,;:"
        if word.endswith("sqrt") and strong[i] and i + 1 < len(words):
            strong[i + 1] = True
        if i == 0 and _SECTION.match(word):
            continue
        if (_LETTER.match(word) and beside) or (_NUMBER.match(word) and (beside or following)):
            strong[i] = True
    for i, word in enumerate(words[:-1]):
        if word in NAMES and words[i - 1] not in {"the", "a", "of"}:
            strong[i] = strong[i + 1] or bool(_NUMBER.match(words[i + 1]))
            strong[i + 1] = strong[i]
    return strong


def _is_strong(word: str) -> bool:
    bare = word.strip("([]).,;:")
    if _NOT.match(word) or bare in {"a", "A", "I", "sign", *NAMES}:
        return False
    return bool(_STRONG.search(word)) and not re.search(r"[A-Za-z]{4,}\.[a-z]{2}|://|^\([a-z]{2,}$", word)


def _is_word(word: str) -> bool:
    """Whether it is English for certain, in a bracket too."""
    bare = word.strip("([]).,;:")
    if bare in SMALL:
        return True
    return bare.isalpha() and len(bare) > 2 and bare not in {*GREEK, *FUNCTIONS, *LARGE, "eps", "sqrt"}


def _joined(found: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Neighbours of a kind as one; full stops and unmatched brackets at the ends of a formula are words."""
    runs: list[tuple[str, bool]] = []
    for piece, math in found:
        if runs and runs[-1][1] == math:
            runs[-1] = (runs[-1][0] + piece, math)
        else:
            runs.append((piece, math))
    out: list[tuple[str, bool]] = []
    for piece, math in runs:
        out += _trimmed(piece) if math else [(piece, False)]
    return out


def _trimmed(piece: str) -> list[tuple[str, bool]]:
    start, end = 0, len(piece)
    while end > start:
        last, inner = piece[end - 1], piece[start:end]
        if (
            last in " ,;:\n"
            or (last == "." and not inner.endswith("..."))
            or (last in ")]" and _unmatched(inner, last) > 0)
        ):
            end -= 1
        elif inner[0] in " \n" or (inner[0] in "([" and _unmatched(inner, {"(": ")", "[": "]"}[inner[0]]) < 0):
            start += 1
        else:
            break
    if (at := _open(piece[start:end])) > 0:
        parts = _trimmed(piece[start : start + at]), [("(", False)], _trimmed(piece[start + at + 1 : end])
        return [(piece[:start], False), *[one for part in parts for one in part], (piece[end:], False)]
    suffix = re.search(r"(?<=[A-Za-z)\]])-(?:[A-Z]{2,}|[a-z]{3,})$", piece[start:end])
    end -= len(suffix[0]) if suffix else 0
    parts = [(piece[:start], False), (piece[start:end], True), (piece[end:], False)]
    return [part for part in parts if part[0]]


def _open(text: str) -> int:
    """Where the last bracket is opened that nobody closes; -1 where there is none."""
    opened: list[int] = []
    for at, sign in enumerate(text):
        if sign == "(":
            opened.append(at)
        elif sign == ")" and opened:
            opened.pop()
    return opened[-1] if opened else -1


def _unmatched(text: str, closing: str) -> int:
    return text.count(closing) - text.count({")": "(", "]": "["}[closing])


def latex(formula: str) -> str:
    """LaTeX of a plain formula."""
    return _Reader(_TOKEN.findall(" ".join(formula.split()))).all()


class _Reader:
    """Turns tokens into LaTeX, from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens, self._at = tokens, 0

    def all(self) -> str:
        out: list[str] = []
        while self._at < len(self._tokens):
            out.append(self._next())
        return " ".join(out)

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def _take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _next(self) -> str:
        token = self._take()
        if token.isspace():
            return r"\;" if self._between() else ""
        if token == "sqrt":
            if self._peek() == " ":
                self._take()
            return rf"\sqrt{{{self._group()}}}"
        if token == "x" and self._at > 2 and self._tokens[self._at - 3][-1].isdigit() and self._peek(1)[:1].isdigit():
            return r"\times"
        return self._raised(_symbol(token), token)

    def _between(self) -> bool:
        """Whether a blank stands between two factors."""
        before = self._tokens[self._at - 2] if self._at > 1 else ""
        return before not in SIGNS and self._peek() not in SIGNS

    def _raised(self, base: str, token: str) -> str:
        """What stands with its indices, primes and powers."""
        if token in SIGNS and token not in {")", "]", "|", "}"}:
            return base
        below, above, prime = "", "", ""
        if re.fullmatch("[A-Z]", token) and self._peek() == "+" and not self._peek(1).isalnum():
            above = self._take()
        if len(token) == 1 and token.isalpha() and self._peek().isdigit():
            below = self._take()
        while self._peek() in {"_", "^", "'"}:
            sign = self._take()
            if sign == "'":
                prime += "′"
            elif sign == "^":
                above += self._group()
            elif self._peek() == "hat":
                self._take()
                base = rf"\hat{{{base}}}"
            else:
                below += self._group(index=True)
        base = f"{{{base}{prime}}}" if prime else base
        return base + (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")

    def _group(self, index: bool = False) -> str:
        """What an index, a power or a root is of."""
        if self._peek() in {"(", "{"}:
            opening = self._take()
            closing, depth, inner = {"(": ")", "{": "}"}[opening], 1, []
            while self._at < len(self._tokens):
                token = self._take()
                depth += (token == opening) - (token == closing)
                if depth == 0:
                    break
                inner.append(token)
            return _Reader(inner).all()
        sign = SIGNS[self._take()] if self._peek() in {"+", "-", "*"} else ""
        if not self._peek()[:1].isalnum():
            return rf"\text{{{sign}}}"
        token = self._take()
        below = ""
        if not index and token.isalpha() and self._peek() == "_":
            self._take()
            below = f"_{{{self._group(index=True)}}}"
        return sign + _symbol(token, index) + below


def _symbol(token: str, index: bool = False) -> str:
    if token in SHORT or token in GREEK:
        return SHORT.get(token, rf"\{token}") + " "
    if token in LARGE:
        return LARGE[token] + " "
    if token in SIGNS:
        return SIGNS[token]
    if number := re.fullmatch(r"(\d[\d.]*)e(-?\d+)", token):
        return ("" if number[1] == "1" else rf"{number[1]} \cdot ") + rf"10^{{{number[2]}}}"
    if token.isalpha() and token.isascii() and len(token) > (2 if index else 1):
        return rf"\mathrm{{{token}}}"
    return token.replace(",", "{,}") if token[0].isdigit() else token
