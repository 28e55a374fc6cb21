"""What mkdocs is told beside mkdocs.yml: two files that stand outside docs/ are pages of the site too."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGES = {"measurements.md": "eval/README.md", "recovery.svg": "eval/recovery.svg", "changelog.md": "CHANGELOG.md"}
"""The path in the site, and the file it is made from."""


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add them to the pages."""
    for page, source in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=source))


def on_page_markdown(markdown: str, **_: object) -> str:
    """Links between those files and docs/, as they stand in the checkout, lead to the pages."""
    return markdown.replace("](../eval/README.md", "](measurements.md").replace("](docs/", "](")
