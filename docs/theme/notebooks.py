"""Notebooks as pages, with the output that was saved in them."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbconvert import MarkdownExporter


def page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook's page, and its pictures by name."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"unique_key": path.stem, "output_files_dir": "."}
    text, resources = MarkdownExporter().from_notebook_node(notebook, resources=resources)
    text = re.sub(r"<style scoped>.*?</style>\n?", "", text, flags=re.DOTALL)
    title, _, rest = text.partition("\n")
    lead = f"This page is a notebook: [{path.name}]({path.name}) runs in Jupyter."
    return f"{title}\n\n{lead}\n{rest}", {Path(name).name: data for name, data in resources["outputs"].items()}
