"""Spoiled policies in ONNX, and spoiled mapping files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from spoil import spoiled_bytes, spoiled_json, spoiled_text

from footfall.control.interface import Command, Sensed
from footfall.control.learned.mapping import read_mapping
from footfall.control.learned.policy import Policy
from footfall.robot import library

if TYPE_CHECKING:
    from files import Case

OPERATIONS = (
    "Gemm",
    "MatMul",
    "Add",
    "Concat",
    "Split",
    "Slice",
    "Gather",
    "Pow",
    "Clip",
    "LayerNormalization",
    "LSTM",
)


def spoiled_model(model: onnx.ModelProto, luck: random.Random) -> bytes:
    """One thing of a graph changed: an operation, what it reads, a shape, a size, a setting, a word."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph, act = model.graph, luck.randrange(8)
    node = luck.choice(list(graph.node))
    if act == 0:
        node.op_type = luck.choice(OPERATIONS)
    elif act == 1:
        node.input[luck.randrange(len(node.input))] = luck.choice(("obs", "mean", "W0", "x1", "", "none"))
    elif act == 2:
        tensor = luck.choice(list(graph.initializer))
        tensor.dims[:] = [luck.choice((0, 1, 12, 47, -1, 1 << 40)) for _ in range(luck.randrange(4))]
    elif act == 3:
        graph.node.remove(node)
    elif act == 4:
        graph.input[0].type.tensor_type.shape.dim[1].dim_value = luck.choice((0, 1, 48, 1 << 40, -3))
    elif act == 5:
        node.attribute.append(onnx.helper.make_attribute(luck.choice(("transA", "transB", "alpha", "axis")), 1))
    elif act == 6:
        tensor = luck.choice(list(graph.initializer))
        tensor.data_type = luck.choice((1, 6, 7, 8, 10, 11, 16))
    else:
        entry = luck.choice(list(model.metadata_props))
        entry.value = luck.choice(
            ("", "nan", "1e400", "-1", "a,b", "none", "{}", "9" * 400, spoiled_words(entry, luck))
        )
    return model.SerializeToString()


def spoiled_words(entry: onnx.StringStringEntryProto, luck: random.Random) -> str:
    return spoiled_text(entry.value.encode(), luck).decode("utf-8", "ignore")


def cases(folder: Path) -> Case:
    whole, path, table = folder / "whole.onnx", folder / "case.onnx", folder / "case.toml"
    Policy.load("mini_cheetah").save(whole)
    source, model, robot = whole.read_bytes(), onnx.load(whole), library.load("mini_cheetah")
    words = Policy.load("mini_cheetah").drive.interface(robot).to_dict()
    q, v = robot.state("stand")
    sensed = Sensed(q=q, v=v, forces=np.zeros((robot.nf, 3)))

    def case(seed: int) -> str:
        luck = random.Random(seed)
        act = luck.randrange(3)
        path.write_bytes(
            spoiled_bytes(source, luck) if act == 0 else spoiled_model(model, luck) if act == 1 else source
        )
        mapping = None
        if act == 2:
            said = spoiled_json(words, luck)
            lines = [f"{key} = {json.dumps(value)}" for key, value in said.items()] if isinstance(said, dict) else ["x"]
            table.write_bytes(
                spoiled_text("\n".join(lines).encode(), luck)
                if luck.random() < 0.3
                else "\n".join(lines).encode("utf-8", "replace")
            )
            mapping = read_mapping(table)
        policy = Policy.load(path, mapping)
        command, _ = policy(0.1, robot, sensed, Command(forward=0.3), policy.start(robot))
        if not np.isfinite(np.asarray(command.position, float)).all():
            raise AssertionError("a policy was loaded that asks for what is not finite")
        return "loaded"

    return case
