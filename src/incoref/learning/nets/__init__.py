"""The networks, in PyTorch."""
