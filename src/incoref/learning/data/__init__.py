"""From corpora to training examples."""
