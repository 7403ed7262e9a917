"""Times hunyuan-ocr beside the official implementation on one page, start to finish, and checks that ids are equal.

Both read the same picture with the same weights in FP32 and the same number of threads, each run in a fresh process,
alternating. Prints the medians and their ratio; also the parts of the Python process, since most of a short run is
imports. Exit status: 0 when all ids agree, 1 when they do not.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_timed(command: list[str], threads: int) -> tuple[float, dict]:
    """Wall seconds from process start to exit, and the JSON object it printed."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
    started = time.perf_counter()
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8")
    seconds = time.perf_counter() - started
    if finished.returncode != 0:
        sys.exit(f"{command[0]} failed with status {finished.returncode}:\n{finished.stderr}")
    return seconds, json.loads(finished.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/bin/hunyuan-ocr", type=Path)
    parser.add_argument("--model", default=ROOT / "models/nano", type=Path)
    parser.add_argument("--image", default=ROOT / "examples/page_512.png", type=Path)
    parser.add_argument("--prompt", default="Extract the text in the image.")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--max-new-tokens", type=int, default=1024)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()

    options = ["--prompt", arguments.prompt, "--threads", str(arguments.threads),
               "--max-new-tokens", str(arguments.max_new_tokens)]
    ours_command = [str(arguments.program), "--model", str(arguments.model), "--json", "--quiet", *options,
                    str(arguments.image)]
    theirs_command = [sys.executable, str(Path(__file__).with_name("read_with_pytorch.py")), str(arguments.model),
                      str(arguments.image), *options]

    if hasattr(os, "getloadavg") and os.getloadavg()[0] > 1:
        print(f"warning: other programs are running (load {os.getloadavg()[0]:.1f}); the times mean little")
    ours_seconds, theirs_seconds, parts = [], [], []
    equal = True
    for run in range(arguments.runs):
        seconds, ours = run_timed(ours_command, arguments.threads)
        ours_seconds.append(seconds)
        seconds, theirs = run_timed(theirs_command, arguments.threads)
        theirs_seconds.append(seconds)
        parts.append(theirs)
        # Whether a program lists the stop token among its tokens is its own choice.
        if ours["tokens"][: len(theirs["ids"])] != theirs["ids"] or len(ours["tokens"]) > len(theirs["ids"]) + 1:
            equal = False
            print(f"ids differ: ours {len(ours['tokens'])} {ours['text']!r}")
            print(f"          theirs {len(theirs['ids'])} {theirs['text']!r}")
        print(f"run {run + 1}: hunyuan-ocr {ours_seconds[-1]:.3f} s, PyTorch {theirs_seconds[-1]:.3f} s", flush=True)

    ours_median, theirs_median = statistics.median(ours_seconds), statistics.median(theirs_seconds)
    part = {name: statistics.median(run[f"{name}_seconds"] for run in parts) for name in ("import", "load", "read")}
    print(f"\n{arguments.image.name}, {arguments.model.name}, {len(parts[0]['ids'])} tokens, "
          f"{arguments.threads} threads, FP32, median of {arguments.runs}")
    print(f"hunyuan-ocr, start to exit   {ours_median:8.3f} s")
    print(f"PyTorch, start to exit       {theirs_median:8.3f} s   {theirs_median / ours_median:.1f} times as long")
    print(f"PyTorch, reading alone       {part['read']:8.3f} s   {part['read'] / ours_median:.1f} times our whole run")
    print(f"  (imports {part['import']:.3f} s, loading {part['load']:.3f} s)")
    print(f"ids {'equal' if equal else 'DIFFER'} in all runs")
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
