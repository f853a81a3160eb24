"""What the site adds to the pages in this folder: files from elsewhere in the project as pages, and links to them.

The pages are also read in the repository, so their links lead to files (``../CONTRIBUTING.md``). On the site, a link
to a file in ``PAGES`` leads to its page, and a link to anything else outside this folder is reduced to its text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "benchmarks/README.md": "benchmarks.md",
    "configs/reproduce-paper/README.md": "reproduce-paper.md",
    "src/incoref/models/en/MODEL_CARD.md": "model-card.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
}
"""Files outside this folder, with their pages."""
WRITTEN = {"architecture.md", "index.md"}
"""Those of the pages that are in this folder; the others are made of their files."""
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^(```\w+) [\w-]+$", flags=re.MULTILINE)
"""The opening of a code block with a word for the tests after its language."""


def with_links_of_the_site(text: str, folder: str) -> str:
    """A file of ``folder`` with links that lead to pages of the site."""

    def replaced(link: re.Match[str]) -> str:
        words, target = link.groups()
        path, hash_sign, heading = target.partition("#")
        if not path or re.match(r"\w+:", target):
            return link[0]
        place = posixpath.normpath(posixpath.join(folder, path))
        if page := PAGES.get(place):
            return f"[{words}]({page}{hash_sign}{heading})"
        if place.startswith("docs/"):
            return f"[{words}]({place.removeprefix('docs/')}{hash_sign}{heading})"
        return words

    return LINK.sub(replaced, text)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.structure.files import File

    for source, page in PAGES.items():
        if page not in WRITTEN:
            text = (ROOT / source).read_text(encoding="utf-8")
            text = with_links_of_the_site(text, posixpath.dirname(source))
            files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if page.file.src_uri not in set(PAGES.values()) - WRITTEN:
        markdown = with_links_of_the_site(markdown, "docs")
    return FENCE.sub(r"\1", markdown)
