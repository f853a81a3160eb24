"""Build ``head.onnx``, the heads' matrix products: one graph with an independent product per matrix."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from incoref.model.matmul import ROWS, Floats

_NARROW = 64
"""Matrices with fewer columns gain nothing from 8 bits."""
_LARGEST = 64
"""The largest 8-bit weight: two products with a byte fit into 16 bits, which is all that some processors have."""
_OPSETS = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]


def products_graph(matrices: Mapping[str, Floats], quantise: bool) -> onnx.ModelProto:
    """Build a graph that computes NAME = NAME.rows times the matrix NAME, for each matrix.

    Inputs default to a single row of zeros, so that one product can run without the others. With ``quantise``, wide
    products are computed in 8 bits: the matrix has a scale per column, the rows one scale found at run time.
    """
    nodes, inputs, outputs, constants = [], [], [], []
    for name, matrix in matrices.items():
        height, width = matrix.shape
        rows, weight = name + ROWS, f"{name}.matrix"
        inputs.append(helper.make_tensor_value_info(rows, TensorProto.FLOAT, [f"{name}.m", height]))
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}.m", width]))
        constants.append(numpy_helper.from_array(np.zeros((1, height), np.float32), rows))
        if quantise and width >= _NARROW:
            scales = np.maximum(abs(matrix).max(axis=0) / _LARGEST, np.finfo(np.float32).tiny).astype(np.float32)
            constants.append(numpy_helper.from_array(np.round(matrix / scales).astype(np.int8), weight))
            constants.append(numpy_helper.from_array(scales, f"{name}.scales"))
            inner = [rows, weight, f"{name}.scales"]
            nodes.append(helper.make_node("DynamicQuantizeMatMul", inner, [name], domain="com.microsoft"))
        else:
            constants.append(numpy_helper.from_array(np.ascontiguousarray(matrix, np.float32), weight))
            nodes.append(helper.make_node("MatMul", [rows, weight], [name]))
    graph = helper.make_graph(nodes, "products", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=_OPSETS, ir_version=7, producer_name="incoref")
