"""Ray Data: a class for ``Dataset.map_batches`` with an actor pool; each actor loads the model once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incoref.batch.answers import Columns
from incoref.batch.sources import arrow
from incoref.batch.tables import answered
from incoref.errors import IncorefError, MissingExtra
from incoref.model.folder import Model
from incoref.resolver import Resolver


class Resolve:
    """Resolves the documents in a batch; passes all columns but text and speaker through and adds ``error``.

        dataset.map_batches(Resolve, compute=ray.data.ActorPoolStrategy(size=8), num_cpus=1, batch_size=64)

    Pass arguments in ``fn_constructor_kwargs``. The model runs in as many threads as the actor has processors; one
    processor per actor gives the highest throughput per core.
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
        self._fields, self._singletons, self._options = tuple(fields), singletons, options
        self._resolver = Resolver(Model.load(model, _processors(), spin=False))

    def __call__(self, batch: Any) -> Any:
        """Resolve a batch of NumPy arrays by column (Ray's default) or an Arrow table; return an Arrow table."""
        pa = arrow()
        table = batch if isinstance(batch, pa.Table) else _table(batch)
        return answered(
            self._resolver,
            table,
            self._columns,
            self._fields,
            singletons=self._singletons,
            options=self._options,
        )


def _table(batch: Any) -> Any:
    if not isinstance(batch, Mapping):
        raise IncorefError(f"Resolve takes batches of arrays or Arrow tables, not {type(batch).__name__}")
    return arrow().table({name: values.tolist() for name, values in batch.items()})


def _processors() -> int:
    """The number of processors assigned to this actor; 1 outside Ray."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("ray", "ray", "resolving on a Ray cluster") from error
    if not ray.is_initialized():
        return 1
    return max(1, int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))
