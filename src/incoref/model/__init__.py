"""The model at run time: NumPy and ONNX Runtime, no PyTorch."""
