"""Analyses of models on annotated documents: each gives tables, plots and figures, and goes on where it was stopped.

``findings`` has the values, ``keeping`` what is kept between calls, ``systems`` whatever finds entities; then comes a
module an analysis. Knows no command line. What trains models imports the learning side only when it trains.
"""
