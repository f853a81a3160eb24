"""The baselines checked number by number against what their published programs computed."""
