"""Where to get the corpora and encoders that ``configs/`` uses, for errors about missing paths.

docs/data.md has the details; a test keeps the two consistent.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from incoref.errors import IncorefError

if TYPE_CHECKING:
    from incoref.learning.config import Configuration

PAGE = "docs/data.md"


class Source(NamedTuple):
    title: str
    address: str
    licence: str


SOURCES = {
    "ontogum": Source("OntoGUM", "https://github.com/amir-zeldes/gum", "CC BY 4.0"),
    "gum": Source("GUM", "https://github.com/amir-zeldes/gum", "CC BY 4.0"),
    "litbank": Source("LitBank", "https://github.com/dbamman/litbank", "CC BY 4.0"),
    "craft": Source("CRAFT", "https://github.com/UCDenver-ccp/CRAFT", "CC BY 3.0"),
    "mudoco": Source("MuDoCo", "https://github.com/facebookresearch/mudoco", "CC BY-NC 4.0"),
    "gap": Source("GAP", "https://github.com/google-research-datasets/gap-coreference", "Apache-2.0"),
    "winobias": Source("WinoBias", "https://github.com/uclanlp/corefBias", "MIT"),
    "winogender": Source("Winogender", "https://github.com/rudinger/winogender-schemas", "MIT"),
    "ontonotes": Source("OntoNotes 5", "https://catalog.ldc.upenn.edu/LDC2013T19", "LDC"),
    "e5-small-v2": Source("e5-small-v2", "https://huggingface.co/intfloat/e5-small-v2", "MIT"),
    "all-mpnet-base-v2": Source(
        "all-mpnet-base-v2", "https://huggingface.co/sentence-transformers/all-mpnet-base-v2", "Apache-2.0"
    ),
    "all-minilm-l6-v2": Source(
        "all-MiniLM-L6-v2", "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2", "Apache-2.0"
    ),
    "xlnet-base-cased": Source("xlnet-base-cased", "https://huggingface.co/xlnet/xlnet-base-cased", "MIT"),
}
"""Keyed by the lower-case name of the folder in the path."""


def source_of(path: Path) -> Source | None:
    """The corpus or encoder that a path belongs to: the last known folder name in it decides."""
    return next((SOURCES[part.lower()] for part in reversed(path.parts) if part.lower() in SOURCES), None)


def where_from(path: Path) -> str:
    """How to get the contents of a missing path; empty if the path isn't a known one."""
    source = source_of(path)
    if source is None:
        return ""
    return (
        f"{source.title} comes from {source.address} ({source.licence}); {PAGE} says how to get it and where it goes"
    )


def check_file(path: Path) -> None:
    """If a corpus's file or folder is missing, raise an error that says where to get it."""
    if not path.exists() and (hint := where_from(path)):
        raise IncorefError(f"{path}: no such file or directory. {hint}")


def check_paths(configuration: Configuration, config: Path) -> None:
    """Raise that error for any file missing from a training configuration, before loading anything."""
    _check_encoder(configuration.encoder.path, config)
    for setting, path in _corpus_paths(configuration):
        if not path.exists():
            hint = where_from(path) or f"Paths are relative to the current directory, {Path.cwd()}"
            raise IncorefError(f"{config}: {setting} = '{path}': no such file or directory. {hint}")


def _check_encoder(encoder: Path, config: Path) -> None:
    from incoref.learning.nets.pretrained import pretrained_folder

    hint = where_from(encoder)
    if hint and not encoder.is_dir():
        try:
            pretrained_folder(encoder)
        except IncorefError as error:
            raise IncorefError(
                f"{config}: encoder.path = '{encoder}': neither a folder nor a name in the local Hugging Face cache. "
                f"{hint}"
            ) from error


def _corpus_paths(configuration: Configuration) -> Iterator[tuple[str, Path]]:
    for section in ("train", "dev"):
        for number, corpus in enumerate(getattr(configuration, section)):
            for name in ("path", "documents", "singletons_from"):
                path = getattr(corpus, name)
                if path is not None:
                    yield f"{section}.{number}.{name}", path
