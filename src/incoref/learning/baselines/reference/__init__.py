"""Check the baselines number by number against the output of their published programs."""
