"""Create baselines by kind, with a common interface to read, train and run them."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from pydantic import ValidationError
from safetensors.torch import save_file
from torch import Tensor, nn

from incoref.errors import FormatError, IncorefError
from incoref.learning.baselines.c2f import C2F
from incoref.learning.baselines.config import (
    BASELINES,
    BaselineConfig,
    C2FConfig,
    CorefQAConfig,
    ICorefConfig,
    LongdocConfig,
    S2EConfig,
)
from incoref.learning.baselines.corefqa import CorefQA
from incoref.learning.baselines.encoders import Encoder, described, new_encoder
from incoref.learning.baselines.icoref import ICoref
from incoref.learning.baselines.longdoc import Longdoc
from incoref.learning.baselines.pieces import Encode, Pieces, Prediction, Window
from incoref.learning.baselines.pieces import encode as encode_windows
from incoref.learning.baselines.reading import Style, read_pieces, read_text, with_gold, word_clusters
from incoref.learning.baselines.s2e import S2E
from incoref.learning.nets.encoder import EncoderSizes
from incoref.learning.reference_outputs import read_json, read_weights
from incoref.model.subwords import SubwordTokenizer
from incoref.types import Document


class System(Protocol):
    """Interface of each system, given a function that encodes a document's windows."""

    def training_losses(
        self, encode: Encode, document: Pieces, rng: np.random.Generator
    ) -> Iterator[dict[str, Tensor]]:
        """Yield parts of the loss as named terms; call ``backward`` on each part before requesting the next."""
        ...

    def predict(self, encode: Encode, document: Pieces, earlier: Prediction | None = None) -> Prediction:
        """Predict the clusters of a document.

        ``earlier`` is the prediction for another text of the same genre, a prefix of this one if it is to be of use:
        it saves time and changes nothing, not even the counts of spans and comparisons.
        """
        ...


def new_system(config: BaselineConfig, sizes: EncoderSizes, symbols: tuple[int, int]) -> nn.Module:
    """Create a system with fresh weights for an encoder; ``symbols`` are the ids that begin and end a window."""
    if isinstance(config, C2FConfig):
        return C2F(config, sizes.width)
    if isinstance(config, S2EConfig):
        return S2E(config, sizes.width, sizes.epsilon)
    if isinstance(config, ICorefConfig):
        return ICoref(config, sizes.width)
    if isinstance(config, LongdocConfig):
        return Longdoc(config, sizes.width)
    if isinstance(config, CorefQAConfig):
        fitting = config.model_copy(update={"context": min(config.context, sizes.positions)})
        return CorefQA(fitting, sizes.width, symbols)
    raise TypeError(f"no system has the settings {type(config).__name__}")


def style_of(config: BaselineConfig) -> Style:
    """Return how a system reads documents."""
    if isinstance(config, ICorefConfig) and config.sentences:
        return Style.SENTENCES
    if isinstance(config, LongdocConfig):
        return Style.OVERLAP if config.overlap else Style.INDEPENDENT
    return Style.SEGMENTS


class Baseline(nn.Module):
    """An encoder with a system on top."""

    def __init__(self, encoder: Encoder, config: BaselineConfig, tokenizer: SubwordTokenizer) -> None:
        super().__init__()
        self.config, self.tokenizer = config, tokenizer
        self.encoder = encoder
        self.system = new_system(config, encoder.sizes, (tokenizer.start, tokenizer.separator))
        self.recompute = self.bf16 = False

    def pieces_of(self, document: Document) -> Pieces:
        """Convert a document, without its annotation."""
        # s2e has no speaker feature; speaker names are part of its text.
        text = read_text(document, self.tokenizer, names=isinstance(self.config, S2EConfig))
        genres: Sequence[str] = getattr(self.config, "genres", ())
        genre = genres.index(document.genre) if document.genre in genres else 0
        tokenizer, longest = self.tokenizer, min(self.config.segment, self.encoder.sizes.positions)
        return read_pieces(text, style_of(self.config), longest, tokenizer.start, tokenizer.separator, genre)

    def read_annotated(self, document: Document) -> tuple[Pieces, Counter[str]]:
        """Convert an annotated document; also count the dropped mentions, by reason."""
        return with_gold(self.pieces_of(document), document)

    def training_losses(self, document: Pieces, rng: np.random.Generator) -> Iterator[dict[str, Tensor]]:
        return self.typed.training_losses(self.encode, document, rng)

    def predict(self, document: Document) -> Prediction:
        """Predict the clusters of a document, as half-open word ranges."""
        return PrefixReader(self).predict(document)

    @property
    def typed(self) -> System:
        return self.system  # type: ignore[return-value]  # every module satisfies the protocol

    def encode(self, windows: Sequence[Window]) -> Tensor:
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self.bf16):
            vectors = encode_windows(self.encoder, windows, self.recompute)
        return vectors.float() if self.bf16 else vectors

    @property
    def _device(self) -> torch.device:
        return next(self.encoder.parameters()).device


class PrefixReader:
    """Predicts what ``Baseline.predict`` does for growing prefixes of documents, without repeating work.

    A segment or window that is complete is encoded once, and the system reuses what it can; both compare content, so
    that any document may come next. Every window is encoded on its own, so that its vectors don't depend on which
    others are encoded at the same time.
    """

    def __init__(self, model: Baseline) -> None:
        self._model = model
        self._vectors: dict[Window, Tensor] = {}
        self._earlier: Prediction | None = None
        self._genre: int | None = None

    @torch.inference_mode()
    def predict(self, document: Document) -> Prediction:
        """Predict the clusters of a document, as half-open word ranges."""
        if not document.tokens:
            return Prediction([], 0, 0)
        pieces = self._model.pieces_of(document)
        whole = {window: Window(window.ids, 0, len(window.ids)) for window in pieces.windows}
        before, self._vectors = self._vectors, {}

        def encode(windows: Sequence[Window]) -> Tensor:
            return torch.cat([of_window(window) for window in windows])

        def of_window(window: Window) -> Tensor:
            if window not in whole:
                return self._model.encode([window])
            key = whole[window]
            if key not in self._vectors:
                self._vectors[key] = before[key] if key in before else self._model.encode([key])
            return self._vectors[key][window.used_from : window.used_to]

        earlier = self._earlier if pieces.genre == self._genre else None
        found = self._model.typed.predict(encode, pieces, earlier)
        self._earlier, self._genre = found, pieces.genre
        return Prediction(word_clusters(pieces, found.clusters), found.spans, found.comparisons)


@dataclass(frozen=True, slots=True)
class _Described:
    """Contents of ``config.json``."""

    kind: str
    settings: dict[str, Any]
    encoder: dict[str, Any]


def save_baseline(folder: Path, kind: str, model: Baseline, tokenizer: Path) -> None:
    """Save a model and its tokenizer to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: value.detach().contiguous() for name, value in model.state_dict().items()}, folder / _WEIGHTS)
    about = _Described(kind, model.config.model_dump(mode="json"), described(model.encoder))
    (folder / "config.json").write_text(json.dumps(asdict(about), indent=1), encoding="utf-8")
    shutil.copy(tokenizer, folder / "tokenizer.json")


def load_baseline(folder: Path) -> Baseline:
    """Load a model written by ``save_baseline``, ready for inference."""
    path = folder / "config.json"
    try:
        about = _Described(**read_json(path))
        config = BASELINES[about.kind].model_validate(about.settings)
        encoder = new_encoder(about.encoder)
    except (TypeError, KeyError, ValidationError) as error:
        raise FormatError(f"not the configuration of a baseline: {error}", path=path) from error
    tokenizer = SubwordTokenizer.load(folder / "tokenizer.json", encoder.sizes.capitals)
    model = Baseline(encoder, config, tokenizer)
    try:
        model.load_state_dict(read_weights(folder / _WEIGHTS))
    except RuntimeError as error:
        raise IncorefError(f"{folder}: the weights don't fit config.json: {error}") from error
    return model.eval()


_WEIGHTS = "model.safetensors"
