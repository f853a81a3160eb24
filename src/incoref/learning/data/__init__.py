"""Corpora to training examples."""
