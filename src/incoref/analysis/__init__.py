"""Analyses of models on annotated documents: each gives tables, plots and figures, and resumes where it was stopped.

``findings`` has the values, ``result_cache`` the results of earlier calls, ``provenance`` where figures come from,
``systems`` whatever finds entities; then comes one module per analysis. Knows no command line. What trains models
imports the learning side only when it trains.
"""
