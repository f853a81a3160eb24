"""Encoders as ONNX graphs."""
