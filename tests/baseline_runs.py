"""Training runs of the baselines small enough for tests."""

from __future__ import annotations

from pathlib import Path

from tiny_training import write_bert, write_corpus

SYSTEMS = {
    "c2f": 'kind = "c2f"\n[c2f]\nhidden = 10\nfeature = 4\nantecedents = 6\nsegments = 2\nsegment = 24',
    "c2f-attended": 'kind = "c2f"\n[c2f]\nhidden = 10\nfeature = 4\nattended = true\nmention_loss = 0.5\n'
    'loss = "hinge"',
    "s2e": 'kind = "s2e"\n[s2e]\nhidden = 12\nsegment = 24\ndropout = 0.1',
    "icoref": 'kind = "icoref"\n[icoref]\nhidden = 10\nfeature = 4\nevict = 30\nsegment = 24\ndropout = 0.1',
    "icoref-inc": 'kind = "icoref"\n[icoref]\nhidden = 10\nfeature = 4\nsentences = true\nmentions = true\n'
    "singletons = true",
    "longdoc": 'kind = "longdoc"\n[longdoc]\nhidden = 10\nfeature = 4\nsegment = 24\nsingletons = true',
    "longdoc-learned": 'kind = "longdoc"\n[longdoc]\nhidden = 10\nfeature = 4\nmemory = "learned"\ncells = 3',
    "longdoc-lru": 'kind = "longdoc"\n[longdoc]\nhidden = 10\nfeature = 4\nmemory = "lru"\ncells = 3\n'
    'overlap = false\nentity = "learned"',
    "corefqa": 'kind = "corefqa"\n[corefqa]\nhidden = 10\ncontext = 40\nquestions = 4\nsegment = 24\ndropout = 0.1',
}
_REST = """
[encoder]
path = "encoder"

[training]
epochs = 2

[[train]]
path = "train.conll"

[[dev]]
path = "dev.conll"
drop_singletons = true
"""


def write_baseline_run(folder: Path, name: str) -> None:
    """Create a folder with an encoder, corpora and ``config.toml`` for one of the baselines."""
    write_bert(folder / "encoder")
    write_corpus(folder / "train.conll", 4)
    write_corpus(folder / "dev.conll", 2, seed=90)
    (folder / "config.toml").write_text(SYSTEMS[name] + _REST, encoding="utf-8")
