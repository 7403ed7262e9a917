"""ncnn's side: one process, which prints one JSON object, seconds by stage. See ncnn_chain.py."""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path


def matrices(config: dict) -> tuple[list[tuple[str, int, int]], int]:
    """(name, inputs, outputs) of one layer, and how many layers."""
    hidden, inside = config["hidden_size"], config["intermediate_size"]
    query = config["num_attention_heads"] * config["head_dim"]
    key = config["num_key_value_heads"] * config["head_dim"]
    return ([("q", hidden, query), ("k", hidden, key), ("v", hidden, key), ("o", query, hidden),
             ("gate", hidden, inside), ("up", hidden, inside), ("down", inside, hidden)], config["num_hidden_layers"])


def network(config: dict, rows: int, head: bool) -> tuple[list[str], list[tuple[int, int]]]:
    """The lines of a param file and the sides of its matrices in order."""
    lines, sides = ["Input in 0 1 x0"], []

    def product(name: str, source: str, target: str, inputs: int, outputs: int) -> None:
        if rows == 1:
            lines.append(f"InnerProduct {name} 1 1 {source} {target} 0={outputs} 1=0 2={inputs * outputs}")
        else:  # 5=1: the second matrix, constant, is transposed
            lines.append(f"Gemm {name} 1 1 {source} {target} 2=0 3=1 4=0 5=1 6=1 8={outputs} 9={inputs} 10=-1")
        sides.append((inputs, outputs))

    layer, count = matrices(config)
    of = {name: (inputs, outputs) for name, inputs, outputs in layer}
    for number in range(count):
        p = f"l{number}"
        lines.append(f"Split {p}split 1 3 x{number} {p}a {p}b {p}c")
        product(f"{p}q", f"{p}a", f"{p}q", *of["q"])
        product(f"{p}k", f"{p}b", f"{p}k", *of["k"])
        product(f"{p}v", f"{p}c", f"{p}v", *of["v"])
        product(f"{p}o", f"{p}q", f"{p}o", *of["o"])
        lines.append(f"BinaryOp {p}kv 2 1 {p}k {p}v {p}kv 0=0")
        lines.append(f"BinaryOp {p}sum 2 1 {p}o {p}kv {p}x 0=0")
        lines.append(f"Split {p}again 1 2 {p}x {p}g0 {p}u0")
        product(f"{p}g", f"{p}g0", f"{p}g", *of["gate"])
        product(f"{p}u", f"{p}u0", f"{p}u", *of["up"])
        lines.append(f"BinaryOp {p}product 2 1 {p}g {p}u {p}m 0=2")
        product(f"{p}d", f"{p}m", f"x{number + 1}", *of["down"])
    if head:
        product("head", f"x{count}", "out", config["hidden_size"], config["vocab_size"])
    return lines, sides


def write(folder: Path, lines: list[str], sides: list[tuple[int, int]]) -> None:
    import numpy

    blobs = set()
    for line in lines:
        words = line.split()
        blobs |= set(words[4 : 4 + int(words[2]) + int(words[3])])
    text = f"7767517\n{len(lines)} {len(blobs)}\n" + "\n".join(lines) + "\n"
    (folder / "chain.param").write_text(text, encoding="utf-8")
    values = numpy.random.default_rng(0).standard_normal(1 << 22).astype(numpy.float32)
    with (folder / "chain.bin").open("wb") as file:
        for inputs, outputs in sides:
            file.write(numpy.int32(0).tobytes())  # what follows is float
            file.write((numpy.resize(values, inputs * outputs) / numpy.float32(inputs**0.5)).tobytes())


def measure(ncnn, config: dict, rows: int, arguments: argparse.Namespace) -> list[float]:
    import numpy

    decode = rows == 1
    lines, sides = network(config, rows, head=decode)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        write(Path(name), lines, sides)
        net = ncnn.Net()
        net.opt.use_vulkan_compute = False
        net.opt.num_threads = arguments.threads
        net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = net.opt.use_fp16_packed = False
        net.opt.use_bf16_storage = arguments.format == "bf16"
        net.opt.lightmode = True
        if net.load_param(f"{name}/chain.param") != 0 or net.load_model(f"{name}/chain.bin") != 0:
            sys.exit("ncnn refuses the chain")
    shape = config["hidden_size"] if decode else (rows, config["hidden_size"])
    x = numpy.random.default_rng(1).standard_normal(shape).astype(numpy.float32)
    target = "out" if decode else f"x{config['num_hidden_layers']}"
    seconds = []
    for _ in range(arguments.repeats * (5 if decode else 1) + 1):
        extractor = net.create_extractor()
        extractor.input("x0", ncnn.Mat(x))
        started = time.perf_counter()
        status, _ = extractor.extract(target)
        seconds.append(time.perf_counter() - started)
        if status != 0:
            sys.exit(f"ncnn failed with {status}")
    return seconds[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--format", choices=("f32", "bf16"))
    parser.add_argument("--threads", type=int)
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--stages", nargs="+")
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.folder))
    import ncnn

    if arguments.version:
        print(ncnn.__version__)
        return
    config = json.loads(arguments.config.read_text(encoding="utf-8"))
    rows = {"prefill": arguments.tokens, "decode": 1}
    print(json.dumps({stage: measure(ncnn, config, rows[stage], arguments) for stage in arguments.stages}))


if __name__ == "__main__":
    main()
