"""What the site has besides its pages: notebooks, commands, files of the repository, formulas, and no way out.

Run by mkdocs (``hooks`` in ``mkdocs.yml``). Links in pages are those of the repository, so that they lead somewhere in
a checkout as well; here they are turned into those of the site.
"""

from __future__ import annotations

import os
import re
import sys
from fnmatch import fnmatch
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).parent))
import commands
import formulas
import notebooks

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
INDENTED = re.compile(r"(?<=\n\n)((?: {4}\S[^\n]*\n)+)(?=\n)")
SECTION = re.compile(r"<p><strong>(\d+\.\d+) ")
POLICY = "default-src 'self' 'unsafe-inline' data:; worker-src 'self' blob:; object-src 'none'"


def on_files(files: Files, config: Any) -> Files:
    """Add pages that are made from notebooks, and what pages link to outside of their folder."""
    for path in sorted((ROOT / "docs").rglob("*.ipynb")):
        where = path.relative_to(ROOT / "docs").with_suffix("")
        text, pictures = notebooks.page(path)
        files.append(File.generated(config, f"{where}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"{where.parent}/{name}", content=content))
    waiting = [file for file in files if file.src_uri.endswith(".md")]
    while waiting:
        file = waiting.pop()
        for target in _targets(file.content_string, file.src_uri):
            uri = _uri(target)
            if uri.startswith("repository/") and uri not in files.src_uris and (ROOT / target).is_file():
                added = File.generated(config, uri, abs_src_path=str(ROOT / target))
                files.append(added)
                waiting += [added] if uri.endswith(".md") else []
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links of the repository become those of the site, and indented blocks of mathematics formulas."""
    here = page.file.src_uri
    if here == "reference/commands.md":
        return f"{markdown}\n{commands.helps()}"

    def turned(match: re.Match[str]) -> str:
        if "://" in match[2] or match[2].startswith("mailto:"):
            return match[0]
        uri = _uri(os.path.normpath(Path(_origin(here)).parent / match[2])).removesuffix(".ipynb")
        uri = uri if Path(uri).suffix or f"{uri}.md" not in files.src_uris else f"{uri}.md"
        return match[1] + os.path.relpath(uri, Path(here).parent) + match[3]

    markdown = LINK.sub(turned, markdown)
    if _has_formulas(here, config):
        markdown = INDENTED.sub(lambda m: f'<pre class="formula">{escape(m[1], quote=False)}</pre>\n', markdown)
    return markdown


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Formulas as MathML; numbered paragraphs can be linked to."""
    if not _has_formulas(page.file.src_uri, config):
        return html
    return formulas.rendered(SECTION.sub(r'<p id="\1"><strong>\1 ', html))


def on_post_page(output: str, page: Any, config: Any) -> str:
    """A policy that lets no page ask another computer for anything."""
    return output.replace("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{POLICY}">', 1)


def _has_formulas(uri: str, config: Any) -> bool:
    return any(fnmatch(uri, pattern) for pattern in config.extra["formulas"])


def _targets(markdown: str, uri: str) -> list[str]:
    """What a page links to, by paths from the root of the repository."""
    links = [match[2] for match in LINK.finditer(markdown) if "://" not in match[2]]
    return [os.path.normpath(Path(_origin(uri)).parent / link) for link in links]


def _origin(uri: str) -> str:
    """Where a page of the site lies in the repository."""
    return uri.removeprefix("repository/") if uri.startswith("repository/") else f"docs/{uri}"


def _uri(target: str) -> str:
    """Where a path of the repository lies in the site."""
    return target.removeprefix("docs/") if target.startswith("docs/") else f"repository/{target}"
