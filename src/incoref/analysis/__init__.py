"""Analyses of models on annotated documents: each produces tables, plots and figures, and can resume after a stop.

``findings`` defines the result values, ``result_cache`` stores earlier results, ``provenance`` records where figures
come from, and ``systems`` wraps anything that finds entities; every other module is one analysis. Independent of the
command line. Analyses that train models import the learning side only when they train.
"""
