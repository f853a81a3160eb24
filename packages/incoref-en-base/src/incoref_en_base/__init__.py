"""The larger English model of incoref, found under the name ``en-base`` once this package is installed."""

from pathlib import Path

MODEL = Path(__file__).parent / "model"
