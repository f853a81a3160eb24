"""Systems that find the entities of documents: a model in one of its settings, or files with another system's output.

``system_names`` resolves their names on the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from incoref import corpora
from incoref.analysis.result_cache import ResultCache, digest, text_digest
from incoref.errors import IncorefError
from incoref.evaluation.metrics import token_clusters
from incoref.model.folder import Model
from incoref.options import UNKNOWN_GENRE, block_size
from incoref.resolver import Resolver
from incoref.types import Document

Clusters = list[list[tuple[int, int]]]
"""Half-open ranges of tokens."""


class System(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str:
        """A digest of everything that the output depends on, except the document."""
        ...

    def clusters(self, document: Document) -> Clusters:
        """Return the clusters of a document, including any singletons."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """Options shared by all models."""

    scheme: str | None = None
    genre: str = UNKNOWN_GENRE
    threads: int = 1


class ModelSystem:
    """A model in a setting."""

    def __init__(
        self, model: Model, setting: str | None = None, options: Options | None = None, title: str | None = None
    ) -> None:
        """``setting`` defaults to the one that the model was trained for."""
        self.model, self.setting, self.options = model, setting or model.setting, options or Options()
        block_size(self.setting)
        self.name = f"{title or model.config.name} {self.setting}"
        model.classes(self.options.scheme, self.options.genre)  # raises an error for unknown classes

    @property
    def digest(self) -> str:
        return digest(self.model.fingerprint, self.setting, self.options.scheme, self.options.genre)

    def predict(self, document: Document) -> Document:
        options = self.options
        return Resolver(self.model).resolve(
            document, singletons=True, scheme=options.scheme, genre=options.genre, setting=self.setting
        )

    def clusters(self, document: Document) -> Clusters:
        return token_clusters(self.predict(document))


class AnswerSystem:
    """Output of another system, read from files and looked up by document id."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path

    @cached_property
    def _documents(self) -> dict[str, Document]:
        return {document.id: document for document in corpora.read(self._path)}

    @cached_property
    def digest(self) -> str:
        return digest([[document.id, token_clusters(document)] for document in self._documents.values()])

    def clusters(self, document: Document) -> Clusters:
        answer = self._documents.get(document.id)
        if answer is None or len(answer.tokens) != len(document.tokens):
            fault = (
                "is not there" if answer is None else f"has {len(answer.tokens)} tokens, not {len(document.tokens)}"
            )
            raise IncorefError(
                f"{self._path}: document '{document.id}' {fault}; it needs the documents of the corpus"
            )
        return token_clusters(answer)


def answers(system: System, documents: Sequence[Document], cache: ResultCache) -> list[Clusters]:
    """Return the clusters of each document."""
    by_document = cache.each(
        f"reading with {system.name}",
        documents,
        lambda document: (system.digest, document.id, text_digest(document)),
        system.clusters,
    )
    return [[[(first, end) for first, end in cluster] for cluster in clusters] for clusters in by_document]
