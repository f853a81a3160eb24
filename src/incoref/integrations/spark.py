"""Spark: a function for ``DataFrame.mapInArrow``, and its output schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from incoref.batch.answers import Columns
from incoref.batch.sources import arrow
from incoref.batch.tables import answered, schema_in_an_engine
from incoref.errors import MissingExtra
from incoref.resolver import Resolver, load


class Resolve:
    """Resolves the documents in a data frame; passes all columns but text and speaker through and adds ``error``.

        resolve = Resolve(text_column="body")
        answers = frame.mapInArrow(resolve, resolve.schema(frame))

    Each of Spark's Python processes loads the model once and runs it in one thread. ``model`` is a folder available
    to all executors, by default the model that comes with incoref.
    """

    def __init__(
        self,
        text_column: str = "text",
        id_column: str = "id",
        speaker_column: str | None = None,
        *,
        fields: Sequence[str] = ("entities",),
        singletons: bool = False,
        model: str | None = None,
        **options: Any,
    ) -> None:
        self._columns = Columns(text_column, id_column, speaker_column)
        self._fields, self._singletons = tuple(fields), singletons
        self._model, self._options = model, options

    def schema(self, frame: Any) -> Any:
        """The output schema for a data frame."""
        try:
            from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
        except ImportError as error:
            raise MissingExtra("pyspark", "spark", "resolving on Spark") from error
        return from_arrow_schema(schema_in_an_engine(to_arrow_schema(frame.schema), self._columns, self._fields))

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Resolve Arrow batches one at a time."""
        resolver = _loaded(self._model)
        for batch in batches:
            table = arrow().Table.from_batches([batch])
            resolved = answered(
                resolver, table, self._columns, self._fields, singletons=self._singletons, options=self._options
            )
            yield from resolved.to_batches()


@lru_cache(maxsize=1)
def _loaded(model: str | None) -> Resolver:
    """Load the model once per process: Spark reuses its Python processes for later tasks."""
    return load(model)
