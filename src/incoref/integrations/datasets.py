"""Hugging Face datasets: a function for ``Dataset.map(…, batched=True)``. Needs no extra package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incoref.errors import IncorefError
from incoref.memory.memory import Memory
from incoref.resolver import Resolver, load


class CorefMap:
    """Makes the rows of a dataset, each a chunk or a turn, understandable without the others.

    Rows with the same value in ``document_column`` belong to one document; without this column, all rows do. They are
    read in the order of the dataset. If several processes map a dataset, no document may be split between them.
    ``options`` are those of ``incoref.Memory``.
    """

    def __init__(
        self,
        column: str = "text",
        *,
        into: str | None = None,
        document_column: str | None = None,
        speaker_column: str | None = None,
        model: str | None = None,
        **options: Any,
    ) -> None:
        self._column, self._into = column, into or column
        self._document_column, self._speaker_column = document_column, speaker_column
        self._model, self._options = model, options
        self._resolver: Resolver | None = None
        self._memories: dict[object, Memory] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Only the configuration, for other processes and for the fingerprint of cached results."""
        return {**self.__dict__, "_resolver": None, "_memories": {}}

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
        for column in (self._column, self._document_column, self._speaker_column):
            if column is not None and column not in batch:
                raise IncorefError(f"the dataset has no column '{column}', only {', '.join(batch)}")
        texts = batch[self._column]
        if isinstance(texts, str):
            raise IncorefError("CorefMap takes batches of rows: map(…, batched=True)")
        self._resolver = self._resolver or load(self._model)
        nothing = [None] * len(texts)
        documents = batch[self._document_column] if self._document_column else nothing
        speakers = batch[self._speaker_column] if self._speaker_column else nothing
        answers = []
        for text, document, speaker in zip(texts, documents, speakers, strict=True):
            if document not in self._memories:
                self._memories[document] = Memory(self._resolver, **self._options)
            answers.append(self._memories[document].add(text, speaker=speaker).text)
        return {self._into: answers}
