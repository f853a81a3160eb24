"""Prepares OntoNotes 5 and CODI-CRAC as in the paper, from the form in which they are distributed.

Neither may be redistributed, so users supply their own copies. OntoNotes: the CoNLL-2012 files (``*.v4_gold_conll``,
or ``*.gold_conll`` in later releases), official splits, English. CODI-CRAC: CONLL-UA files with the genre ``tc``
(telephone conversation), without singletons and split antecedents (``ElementOf``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from incoref.corpora import read
from incoref.corpora.files import files_in
from incoref.errors import FormatError, IncorefError
from incoref.types import Document, Entity, Mention

SPLITS = {"train": "train", "development": "dev", "test": "test", "conll-2012-test": "test"}
"""Folder names in the releases, and our names for the splits."""
OFFICIAL = {"train": 2802, "dev": 343, "test": 348}
"""Number of documents in the official English splits; each part of a document counts as one."""
_GOLD, _SKELETON = "gold_conll", "gold_skel"
_SPLIT_ANTECEDENT = "elementof"
GENRE = "tc"


def ontonotes_files(release: Path) -> dict[str, list[Path]]:
    """The English gold files of each split, identified by the names of their folders."""
    if not release.is_dir():
        raise IncorefError(f"{release}: no such folder")
    files = files_in(release, lambda path: path.name.endswith(_GOLD))
    if not files:
        if files_in(release, lambda path: path.name.endswith(_SKELETON)):
            raise IncorefError(
                f"{release}: only skeletons there (*{_SKELETON}), which have no words; fill them in first with the "
                "task's own skeleton2conll.sh"
            )
        raise IncorefError(f"{release}: no file whose name ends in v4_{_GOLD}")
    by_split: dict[str, list[Path]] = {}
    for path in files:
        folders = path.relative_to(release).parts[:-1]
        if "english" not in folders and {"chinese", "arabic"} & set(folders):
            continue
        # The innermost name decides: a release may itself lie in a folder called test.
        split = next((folder for folder in reversed(folders) if folder in SPLITS), None)
        if split is not None:
            by_split.setdefault(split, []).append(path)
    if not by_split:
        raise IncorefError(f"{release}: its files lie in none of the folders {', '.join(SPLITS)}")
    if "conll-2012-test" in by_split:
        by_split.pop("test", None)  # in later releases, this is the shared task's test set
    named = {SPLITS[split]: paths for split, paths in by_split.items()}
    return {split: named[split] for split in OFFICIAL if split in named}


def ontonotes(paths: list[Path]) -> Iterator[Document]:
    """Yield the documents of files, unchanged; missing words are an error."""
    for path in paths:
        for document in read(path, "conll-2012"):
            if any(token.text == "[WORD]" for token in document.tokens):
                raise FormatError("words are missing ('[WORD]'): fill them in with skeleton2conll.sh", path=path)
            yield document


def codi_crac_files(folder: Path) -> list[Path]:
    """The CONLL-UA files in a folder."""
    if not folder.is_dir():
        raise IncorefError(f"{folder}: no such folder")
    paths = files_in(folder, lambda path: path.name.lower().endswith(".conllua"))
    if not paths:
        raise IncorefError(f"{folder}: no file whose name ends in .CONLLUA")
    return paths


def codi_crac(path: Path) -> Iterator[Document]:
    """Yield a file's documents as telephone conversations: named ``tc/FILE/DOCUMENT``, without singletons."""
    for document in read(path, "conllua"):
        entities = (_without_split_antecedents(entity) for entity in document.entities if len(entity) > 1)
        yield replace(document, id=f"{GENRE}/{path.stem}/{document.id}", genre=GENRE, entities=tuple(entities))


def _without_split_antecedents(entity: Entity) -> Entity:
    def plain(mention: Mention) -> Mention:
        kept = tuple(pair for pair in mention.attributes if pair[0].lower().replace("_", "") != _SPLIT_ANTECEDENT)
        return replace(mention, attributes=kept)

    return replace(entity, mentions=tuple(map(plain, entity.mentions)))
