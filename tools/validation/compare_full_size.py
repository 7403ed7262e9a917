"""Speed and memory of hunyuan-ocr beside the official implementation in PyTorch, on a model of any size.

    python -m tools.validation.compare_full_size --model FOLDER --threads 2 [--precision bf16]

Same picture (512 x 512), weights, threads and number of tokens; the two sides take turns, each in a process of its own
that warms up before it measures. Prints medians and ratios, peak resident memory, and whether the ids agree. A random
checkpoint of the full size comes from make_random_full_size.py. Both sides compute in the same precision. Exit status:
0 when the targets are met: vision and prefill in at most the official implementation's time (bf16: a 1.2th of it),
twice its decode speed, a peak of at most one copy of the weights at 2 bytes and 700 MB; and in f32 equal ids. In bf16
ids may differ: the two sides round at different places.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PREFILL_TARGETS, DECODE_TARGET = {"f32": 1.0, "bf16": 1.2}, 2.0
MEMORY_ALLOWANCE_BYTES = 700 * 10**6


def run_measured(command: list[str], threads: int) -> tuple[str, int]:
    """Standard output, and the peak resident bytes of that process."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors)
        output = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"{command[0]} failed with status {process.returncode}:\n{errors.read().decode()}")
    return output, usage.ru_maxrss * 1024


def run_ours(arguments: argparse.Namespace) -> dict:
    options = ["--prompt", arguments.prompt, "--threads", str(arguments.threads), "--max-new-tokens",
               str(arguments.max_new_tokens), "--precision", arguments.precision]
    command = [str(arguments.program), "--model", str(arguments.model), "--json", "--quiet", *options,
               *[str(arguments.image)] * (1 + arguments.repeats)]
    output, peak = run_measured(command, arguments.threads)
    pages = [json.loads(line) for line in output.splitlines()][1:]
    profiles = [page["profile"] for page in pages]
    return {
        "ids": pages[-1]["tokens"],
        "runs": [{"first_token_seconds": (profile["vision_ms"] + profile["prefill_ms"]) / 1000,
                  "decode_tokens_per_second": 1000 * profile["blocks"] / profile["decode_ms"],
                  "vision_seconds": profile["vision_ms"] / 1000} for profile in profiles],
        "peak_resident_bytes": peak,
        "weight_bytes": profiles[-1]["weight_bytes"],
        "precision": profiles[-1]["decoder_precision"],
        "instruction_set": profiles[-1]["instruction_set"],
    }


def run_theirs(arguments: argparse.Namespace) -> dict:
    command = [sys.executable, str(Path(__file__).with_name("time_with_pytorch.py")), str(arguments.model),
               str(arguments.image), "--prompt", arguments.prompt, "--threads", str(arguments.threads),
               "--max-new-tokens", str(arguments.max_new_tokens), "--repeats", str(arguments.repeats),
               "--precision", arguments.precision]
    output, _ = run_measured(command, arguments.threads)
    return json.loads(output.strip().splitlines()[-1])


def parameters(folder: Path) -> int:
    """Elements of all tensors, from the headers of the checkpoint's files."""
    count = 0
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        for name, tensor in header.items():
            if name != "__metadata__":
                elements = 1
                for extent in tensor["shape"]:
                    elements *= extent
                count += elements
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/bin/hunyuan-ocr")
    parser.add_argument("--model", type=Path, default=ROOT / "models/nano")
    parser.add_argument("--image", type=Path, default=ROOT / "examples/page_512.png")
    parser.add_argument("--prompt", default="Extract the text in the image.")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=PREFILL_TARGETS, default="f32")
    parser.add_argument("--max-new-tokens", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=2, help="processes of each side")
    parser.add_argument("--repeats", type=int, default=1, help="measured readings in each process")
    arguments = parser.parse_args()
    if arguments.max_new_tokens < 2 or arguments.rounds < 1 or arguments.repeats < 1:
        parser.error("--max-new-tokens is at least 2, --rounds and --repeats at least 1")

    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"warning: other programs are running (load {load:.1f}); the times mean little")
    ours, theirs = [], []
    for round_number in range(arguments.rounds):
        ours.append(run_ours(arguments))
        theirs.append(run_theirs(arguments))
        print(f"round {round_number + 1}: hunyuan-ocr {ours[-1]['runs']}, PyTorch {theirs[-1]['runs']}", flush=True)

    def median(side: list[dict], key: str) -> float:
        return statistics.median(run[key] for process in side for run in process["runs"])

    first = median(ours, "first_token_seconds"), median(theirs, "first_token_seconds")
    rate = median(ours, "decode_tokens_per_second"), median(theirs, "decode_tokens_per_second")
    peak = max(run["peak_resident_bytes"] for run in ours), max(run["peak_resident_bytes"] for run in theirs)
    bound = 2 * parameters(arguments.model) + MEMORY_ALLOWANCE_BYTES
    print(f"\n{arguments.image.name}, {arguments.model.name}, {len(theirs[-1]['ids'])} tokens, {arguments.threads} "
          f"threads, {ours[-1]['instruction_set']}, {ours[-1]['precision']}; median of "
          f"{arguments.rounds * arguments.repeats}; load {load:.1f} before, {os.getloadavg()[0]:.1f} after")
    print(f"{'':24} {'hunyuan-ocr':>12} {'PyTorch':>12} {'ratio':>7} {'target':>8}")
    prefill_target = PREFILL_TARGETS[arguments.precision]
    print(f"{'vision + prefill, s':24} {first[0]:12.3f} {first[1]:12.3f} {first[1] / first[0]:6.2f}x "
          f"{f'>= {prefill_target}x':>8}   (vision {median(ours, 'vision_seconds'):.3f} s of ours)")
    print(f"{'decode, tokens/s':24} {rate[0]:12.2f} {rate[1]:12.2f} {rate[0] / rate[1]:6.2f}x "
          f"{f'>= {DECODE_TARGET}x':>8}")
    print(f"{'peak resident, MB':24} {peak[0] / 1e6:12.0f} {peak[1] / 1e6:12.0f} {peak[1] / peak[0]:6.2f}x "
          f"{f'<= {bound / 1e6:.0f}':>8}   (weights {ours[-1]['weight_bytes'] / 1e6:.0f} MB of ours)")
    equal = all(run["ids"] == theirs[0]["ids"] for run in [*ours, *theirs])
    print(f"ids {'equal' if equal else 'DIFFER'} in all runs")
    met = first[1] / first[0] >= prefill_target and rate[0] / rate[1] >= DECODE_TARGET and peak[0] <= bound
    print(f"targets {'met' if met else 'MISSED'}")
    sys.exit(0 if met and (equal or arguments.precision == "bf16") else 1)


if __name__ == "__main__":
    main()
