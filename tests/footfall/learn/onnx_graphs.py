"""Small ONNX graphs for tests, made with the package ``onnx`` as others make them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def single(x, name):
    return numpy_helper.from_array(np.asarray(x, np.float32), name)


def whole(x, name):
    return numpy_helper.from_array(np.asarray(x, np.int64), name)


def graph_file(path, nodes, constants, inputs, outputs, metadata=None, name="obs", more=()):
    """An ONNX file of nodes from ``obs`` to ``actions`` with a batch that may be of any size."""
    shapes = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", inputs])]
    shapes += [helper.make_tensor_value_info(key, TensorProto.FLOAT, [1, 4]) for key in more]
    out = [helper.make_tensor_value_info("actions", TensorProto.FLOAT, ["batch", outputs])]
    graph = helper.make_graph(nodes, "policy", shapes, out, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata or {})
    path.write_bytes(model.SerializeToString())
    return path


def with_metadata(path, out, drop=(), **changes):
    """A copy of a file with other metadata."""
    model = onnx.load(path)
    words = {p.key: p.value for p in model.metadata_props}
    words = {key: value for key, value in {**words, **changes}.items() if key not in drop}
    del model.metadata_props[:]
    helper.set_model_props(model, words)
    out.write_bytes(model.SerializeToString())
    return out
