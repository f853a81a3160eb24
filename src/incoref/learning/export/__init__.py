"""Trained networks to model folders that need no PyTorch."""
