"""The learning side: PyTorch modules, data preparation, training and export. Needs the extra ``train``."""
