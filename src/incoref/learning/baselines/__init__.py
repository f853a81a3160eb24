"""Baselines that the paper compares with, on any of our encoders: c2f, s2e, ICoref, longdoc, CorefQA."""
