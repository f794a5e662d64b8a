"""The page around a report, and the kinds of things it is made of. Text is escaped for HTML here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as for_html
from importlib.resources import files

from discreet.errors import printable

ALONE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Browsers load nothing from elsewhere and run no script, whatever a name in the data tries."""


KIND = "Report of a differentially private regression"


def escape(text: str) -> str:
    """Escape plain text for HTML, invisible characters first."""
    return for_html(printable(text))


def page(title: str, heading: str, answer: str, banners: Sequence[str], parts: Iterable[str], kind: str = KIND) -> str:
    """A whole page."""
    style = files("discreet.results.report").joinpath("style.css").read_text(encoding="utf-8")
    warnings = "".join(f'<p class="banner" role="note">{escape(text)}</p>\n' for text in banners)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{ALONE}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n<header>\n"
        f'<p class="kind">{escape(kind)}</p>\n<h1>{escape(heading)}</h1>\n{warnings}'
        f'<p class="answer">{escape(answer)}</p>\n</header>\n' + "\n".join(parts) + "\n</main>\n</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    """A part of the page, from HTML."""
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(filter(None, parts)) + "\n</section>"


def paragraphs(*texts: str, kind: str = "") -> str:
    """Paragraphs of plain text."""
    name = f' class="{kind}"' if kind else ""
    return "\n".join(f"<p{name}>{escape(text)}</p>" for text in texts)


def bullets(texts: Iterable[str]) -> str:
    """A list of plain texts."""
    return "<ul>\n" + "".join(f"<li>{escape(text)}</li>\n" for text in texts) + "</ul>"


def code(text: str) -> str:
    """Something to type or to copy, in one line or several."""
    lines = "\n".join(escape(line) for line in text.split("\n"))
    return f"<pre>{lines}</pre>"


def figure(picture: str, caption: str) -> str:
    """A picture as SVG text, with its caption."""
    return f"<figure>\n{picture}\n<figcaption>{escape(caption)}</figcaption>\n</figure>"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "words") -> str:
    """A table of plain text; without headings where all are empty. The first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>\n"
        for row in rows
    )
    top = f"<thead><tr>{head}</tr></thead>\n" if any(columns) else ""
    return f'<div class="wide"><table class="{kind}">\n{top}<tbody>\n{body}</tbody></table></div>'
