"""Compare our outputs with another program's, number by number, from folders of reference outputs.

Such a folder has ``config.json``, ``model.safetensors``, ``documents.json`` and ``expected.json``. Everything in it
was computed in double precision, so our outputs are compared in double precision: numbers to ``TOLERANCE``,
everything else (actions, choices, spans, clusters) exactly, with no allowance for rounding. Independent of models.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from incoref.errors import FormatError

TOLERANCE = 1e-6

GRADIENT_NORMS = ("gradient_norms", "grad_norms")
"""Fields with the norms of gradients by parameter: one quantity each."""

Outputs = Mapping[str, Any]
"""What a program computed for a document: objects, lists, numbers and null, as in JSON."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The largest difference of one quantity over all documents; infinite where a shape or a decision differs."""

    quantity: str
    largest: float = 0.0
    document: int = 0
    """Number of the document with the largest difference, from 0."""
    single: float | None = None
    """The largest difference in single precision, over the documents with the same decisions; informational."""

    @property
    def passed(self) -> bool:
        return self.largest <= TOLERANCE


@dataclass(frozen=True, slots=True)
class Reference:
    """A folder of reference outputs, and functions that compute our own."""

    expected: Sequence[Outputs]
    """One per document."""
    double: Callable[[int], Outputs]
    """Computes our outputs for the numbered document in double precision."""
    single: Callable[[int], Outputs]
    """The same in single precision."""
    path: Path
    """The file with the expected outputs, for error messages."""
    own: Callable[[], list[Difference]] = list
    """Further comparisons, of fast implementations with the plain one."""

    def check(self) -> list[Difference]:
        """Return the largest difference of every quantity."""
        exact: dict[str, tuple[float, int]] = {}
        rough: dict[str, float] = {}
        for number, wanted in enumerate(self.expected):
            for quantity, apart in self._compared(self.double(number), wanted, number).items():
                if quantity not in exact or apart > exact[quantity][0]:
                    exact[quantity] = (apart, number)
            rounded = self._compared(self.single(number), wanted, number)
            if all(math.isfinite(apart) for apart in rounded.values()):
                for quantity, apart in rounded.items():
                    rough[quantity] = max(rough.get(quantity, 0.0), apart)
        rows = [Difference(name, apart, document, rough.get(name)) for name, (apart, document) in exact.items()]
        return [*rows, *self.own()]

    def _compared(self, ours: Outputs, wanted: Outputs, number: int) -> dict[str, float]:
        largest: dict[str, float] = {}
        for quantity, apart in differences(ours, wanted, f"document {number}", self.path):
            largest[quantity] = max(largest.get(quantity, 0.0), apart)
        return largest


def differences(
    computed: Any, wanted: Any, place: str, path: Path, quantity: tuple[str, ...] = ()
) -> Iterator[tuple[str, float]]:
    """Yield how far apart two outputs are, one (quantity, difference) pair per number or decision.

    A quantity is named by the fields that lead to it; gradient norms are one quantity whatever their parameter.
    """
    if isinstance(computed, Mapping):
        _check_fields(computed, wanted, place, path)
        one = quantity != () and quantity[-1] in GRADIENT_NORMS
        for name, value in computed.items():
            inner = quantity if one else (*quantity, name)
            yield from differences(value, wanted[name], f"{place}, {name}", path, inner)
        return
    title = ": ".join(part.replace("_", " ") for part in quantity)
    if isinstance(computed, list | tuple):
        if not isinstance(wanted, list) and wanted is not None:
            raise FormatError(f"{place}: expected a list, not {_kind(wanted)}", path=path)
        yield title, 0.0 if wanted is not None and len(computed) == len(wanted) else math.inf
        if wanted is not None:
            for number, (ours, theirs) in enumerate(zip(computed, wanted, strict=False)):
                yield from differences(ours, theirs, f"{place} {number}", path, quantity)
    elif isinstance(computed, float):
        if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, int | float)):
            raise FormatError(f"{place}: expected a number, not {_kind(wanted)}", path=path)
        yield title, difference(computed, wanted)
    else:
        yield title, 0.0 if type(computed) is type(wanted) and computed == wanted else math.inf


def _check_fields(computed: Mapping[str, Any], wanted: Any, place: str, path: Path) -> None:
    if not isinstance(wanted, dict):
        raise FormatError(f"{place}: expected an object, not {_kind(wanted)}", path=path)
    if missing := computed.keys() - wanted.keys():
        raise FormatError(f"{place}: the outputs lack {', '.join(sorted(missing))}", path=path)
    if unknown := wanted.keys() - computed.keys():
        raise FormatError(f"{place}: nothing of ours to compare with {', '.join(sorted(unknown))}", path=path)


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "text", type(None): "null", bool: "true or false"}.get(
        type(value), "a number"
    )


def difference(computed: float | None, wanted: float | None) -> float:
    """Return the absolute difference, relative for wanted values above 1; infinite if only one value is given."""
    if computed is None or wanted is None:
        return 0.0 if computed is wanted else math.inf
    apart = abs(computed - wanted) / max(1.0, abs(wanted))
    return math.inf if math.isnan(apart) else apart


def tensor_difference(computed: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> float:
    """Return the largest difference of all elements; a tensor on only one side counts as 0 on the other."""
    largest = 0.0
    for name in computed.keys() | wanted.keys():
        one = computed.get(name, torch.zeros(()))
        other = wanted.get(name, torch.zeros(()))
        apart = ((one - other).abs() / other.abs().clamp(min=1)).max().item()
        largest = math.inf if math.isnan(apart) else max(largest, apart)
    return largest


def numbers(values: Tensor) -> Any:
    """Convert a tensor to lists of numbers, with null for minus infinity as in the outputs."""

    def with_null(value: Any) -> Any:
        if isinstance(value, list):
            return [with_null(each) for each in value]
        return None if value == -math.inf else value

    return with_null(values.detach().tolist())


def read_outputs(path: Path, documents: int) -> list[Any]:
    """Read ``expected.json``, the outputs for this number of documents."""
    expected = read_json(path)
    if not isinstance(expected, list) or len(expected) != documents:
        count = len(expected) if isinstance(expected, list) else "no list of"
        raise FormatError(f"{count} outputs for {documents} documents", path=path)
    return expected


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise FormatError(f"can't be read: {error}", path=path) from error


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"can't be read: {error.strerror}", path=path) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"not JSON: {error}", path=path) from error
