"""Export of trained networks to model folders that don't need PyTorch."""
