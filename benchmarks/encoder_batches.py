"""Would it pay to read sentences of several sessions in one call of the encoder?

A session is brought back by reading its log again, so its numbers must not depend on who else is read in the same
call. In int8 they do: an activation's scale is that of all its rows. This tries a graph that gives every session the
same bits whatever its neighbours are: scales are fixed beforehand, the linear layers take the rows of all sessions,
and attention is apart for each. It tells what a sentence costs then, by how many sessions are in a call, and the
encoder's part of a turn. The model with fixed scales is written, to be scored. Needs the extra train.

    python benchmarks/encoder_batches.py ../shared/corpora/mudoco --out FOLDER
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Sequence
from copy import deepcopy
from itertools import cycle, islice
from pathlib import Path
from statistics import median

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from serving import dialogues

import incoref
from incoref.encoder import Encoder, EncoderState, _Cache

Range = tuple[float, float]
Call = tuple[_Cache, np.ndarray, int]
"""A cache, a block, and the places before it."""

LINEAR = "DynamicQuantizeMatMul"
OF_PLACES = ("count", "cell shape", "place column", "cell heads", "cell places", "cells")
OF_ATTENTION = (
    ".heads",
    ".turned",
    ".scores",
    ".masked",
    ".weights",
    ".gathered",
    ".flat",
    ".split",
    ".key",
    ".value",
)
FOR_ALL = ("apart", "together", "rest", "heads", "column")
POOL = 24
ROUNDS = 40


def loaded(graph: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])


def ranges(resolver: incoref.Resolver, folder: Path, count: int = 40) -> dict[str, Range]:
    """The least and the greatest number that goes into each linear layer, while dialogues are read."""
    graph = onnx.load(resolver.model.folder / "encoder.onnx")
    sources = {node.name: node.input[0] for node in graph.graph.node if node.op_type == LINEAR}
    wanted = sorted(set(sources.values()))
    graph.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in wanted)
    probe, run = loaded(graph), _Cache.run
    found = dict.fromkeys(wanted, (0.0, 0.0))

    def probed(cache: _Cache, blocks: Sequence[np.ndarray], used: int) -> np.ndarray:
        past = dict(zip(cache._graph.past, cache.values, strict=True))
        for name, value in zip(wanted, probe.run(wanted, {**cache.inputs(blocks, used), **past}), strict=True):
            found[name] = min(found[name][0], float(value.min())), max(found[name][1], float(value.max()))
        return run(cache, blocks, used)

    _Cache.run = probed  # type: ignore[method-assign]
    for dialogue in islice(dialogues(folder), count):
        session = resolver.session()
        for text, speaker in dialogue:
            session.say(text, speaker)
    _Cache.run = run  # type: ignore[method-assign]
    return {name: found[source] for name, source in sources.items()}


def with_fixed_scales(graph: onnx.ModelProto, limits: dict[str, Range]) -> onnx.ModelProto:
    """The same graph, but what goes into linear layers has a scale that is known before."""
    fixed, nodes = deepcopy(graph), []
    for node in graph.graph.node:
        if node.op_type != LINEAR:
            nodes.append(node)
            continue
        source, weight, weight_scale, _, bias = node.input
        name, (low, high) = node.name, limits[node.name]
        scale = np.float32((high - low) / 255)
        zero = np.uint8(round(-low / scale))
        for part, value in ((".step", scale), (".zero", zero)):
            fixed.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name + part))
        step, nought, rounded = name + ".step", name + ".zero", name + ".rounded"
        product = (rounded, weight, step, weight_scale, nought, "", bias)
        nodes.append(helper.make_node("QuantizeLinear", [source, step, nought], [rounded], rounded))
        nodes.append(helper.make_node("MatMulIntegerToFloat", product, node.output, name, domain="com.microsoft"))
    del fixed.graph.node[:]
    fixed.graph.node.extend(nodes)
    return fixed


def of_several(graph: onnx.ModelProto, sessions: int) -> onnx.ModelProto:
    """A graph that reads a block of each of some sessions: ``lengths`` tells which rows are whose."""
    several, nodes = deepcopy(graph), []
    for node in graph.graph.node:
        apart = node.name in OF_PLACES or node.name.startswith("present.")
        apart = apart or (node.name.startswith("layer.") and node.name.endswith(OF_ATTENTION))
        if not apart:
            nodes.append(node)
            continue
        if node.op_type == "Split":
            rows = [f"{number}.{node.input[0]}" for number in range(sessions)]
            nodes.append(helper.make_node("Split", [node.input[0], "lengths"], rows, axis=0))
        for number in range(sessions):
            own = deepcopy(node)
            own.name = f"{number}.{node.name}"
            own.input[:] = [name if name in FOR_ALL else f"{number}.{name}" for name in node.input]
            own.output[:] = [f"{number}.{name}" for name in node.output]
            nodes.append(own)
        if node.name.endswith("gathered.flat"):
            rows = [f"{number}.{node.output[0]}" for number in range(sessions)]
            nodes.append(helper.make_node("Concat", rows, node.output, axis=0))

    def of_session(item: onnx.ValueInfoProto, number: int) -> onnx.ValueInfoProto:
        own = deepcopy(item)
        own.name = f"{number}.{item.name}"
        for size in own.type.tensor_type.shape.dim:
            if size.dim_param:
                size.dim_param = f"{number}.{size.dim_param}"
        return own

    for items, common in ((several.graph.input, ("ids", "places")), (several.graph.output, ("vectors",))):
        before = list(items)
        del items[:]
        items.extend(item for item in before if item.name in common)
        own_items = [item for item in before if item.name not in ("ids", "vectors")]
        items.extend(of_session(item, number) for number in range(sessions) for item in own_items)
    several.graph.input.append(helper.make_tensor_value_info("lengths", TensorProto.INT64, [sessions]))
    del several.graph.node[:]
    several.graph.node.extend(nodes)
    return several


class Batch:
    """Calls of several sessions as one."""

    def __init__(self, graph: onnx.ModelProto, sessions: int) -> None:
        self.session = loaded(of_several(graph, sessions))

    def run(self, calls: Sequence[Call]) -> np.ndarray:
        binding = self.session.io_binding()
        told = [cache.inputs([block], used) for cache, block, used in calls]
        rows = np.concatenate([inputs["ids"] for inputs in told])
        common = {
            "ids": rows,
            "places": np.concatenate([inputs["places"] for inputs in told]),
            "lengths": np.array([len(inputs["ids"]) for inputs in told]),
        }
        vectors = np.empty((len(rows), calls[0][0]._graph.width), np.float32)
        for name, value in common.items():
            binding.bind_cpu_input(name, value)
        for number, ((cache, _, _), inputs) in enumerate(zip(calls, told, strict=True)):
            for name in ("places", "mask"):
                binding.bind_cpu_input(f"{number}.{name}", inputs[name])
            for name, values in zip(cache._graph.past, cache.values, strict=True):
                memory = onnxruntime.OrtValue.ortvalue_from_numpy(values)
                binding.bind_ortvalue_input(f"{number}.{name}", memory)
                binding.bind_ortvalue_output(f"{number}.{name.replace('past', 'present', 1)}", memory)
        binding.bind_ortvalue_output("vectors", onnxruntime.OrtValue.ortvalue_from_numpy(vectors))
        self.session.run_with_iobinding(binding)
        return vectors


def costs(shipped: Encoder, fixed: Encoder, graph: onnx.ModelProto) -> None:
    draw = np.random.default_rng(0)
    batches = {sessions: Batch(graph, sessions) for sessions in (2, 4, 8)}
    print("| tokens | before them | as shipped, ms | fixed scales, ms | in twos | in fours | in eights |")
    print("|---|---|---|---|---|---|---|")
    for count, before in ((10, 60), (10, 470), (25, 60), (25, 470)):
        block = draw.integers(1000, 20000, count)
        calls = {}
        for encoder in (shipped, fixed):
            states = [context(encoder, draw.integers(1000, 20000, before)) for _ in range(POOL)]
            calls[encoder] = [(state.cache.claim(state.used, count), block, state.used) for state in states]
        alone = [cache.run([block], used) for cache, block, used in calls[fixed]]
        times: dict[str | int, list[float]] = {}
        turn = cycle(range(0, POOL, 8))
        for _ in range(ROUNDS):
            first = next(turn)
            for name, encoder in (("shipped", shipped), ("fixed", fixed)):
                cache, _, used = calls[encoder][first]
                started = time.thread_time()
                cache.run([block], used)
                times.setdefault(name, []).append(time.thread_time() - started)
            for sessions, batch in batches.items():
                together = calls[fixed][first : first + sessions]
                started = time.thread_time()
                vectors = batch.run(together)
                times.setdefault(sessions, []).append((time.thread_time() - started) / sessions)
                assert np.array_equal(vectors, np.concatenate(alone[first : first + sessions])), "not the same bits"
        told = " | ".join(f"{1000 * median(found):.2f}" for found in times.values())
        print(f"| {count} | {before} | {told} |", flush=True)


def context(encoder: Encoder, block: np.ndarray) -> EncoderState:
    state = encoder.start()
    for start in range(0, len(block), 60):
        state = encoder.read(block[start : start + 60], state)[1]
    return state


def share(resolver: incoref.Resolver, folder: Path, count: int = 60) -> None:
    encoder, inside, turns = resolver.model.encoder, 0.0, 0
    read = encoder.read

    def timed(block: np.ndarray, state: EncoderState) -> tuple[np.ndarray, EncoderState]:
        nonlocal inside
        started = time.thread_time()
        answer = read(block, state)
        inside += time.thread_time() - started
        return answer

    encoder.read = timed  # type: ignore[method-assign]
    started = time.thread_time()
    for dialogue in islice(dialogues(folder), count):
        session = resolver.session()
        for text, speaker in dialogue:
            session.say(text, speaker)
            turns += 1
    whole = time.thread_time() - started
    print(f"\na turn: {1000 * whole / turns:.1f} ms, of which the encoder {1000 * inside / turns:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="with the dialogues, *.eval.jsonlines")
    parser.add_argument("--out", type=Path, required=True, help="where the model with fixed scales is written")
    arguments = parser.parse_args()
    resolver = incoref.load()
    model = resolver.model
    graph = onnx.load(model.folder / "encoder.onnx")
    fixed = with_fixed_scales(graph, ranges(resolver, arguments.folder))
    shutil.copytree(model.folder, arguments.out, dirs_exist_ok=True)
    onnx.save(fixed, arguments.out / "encoder.onnx")
    costs(model.encoder, incoref.load(arguments.out).model.encoder, fixed)
    share(resolver, arguments.folder)


if __name__ == "__main__":
    main()
