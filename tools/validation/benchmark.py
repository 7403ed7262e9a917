"""Times hunyuan-ocr on one picture at several numbers of threads. Python's standard library only.

    python -m tools.validation.benchmark --threads 1 2 4 8 --warmup 1 --repeats 1

One process per number of threads: it reads the picture `warmup` times, which do not count, then `repeats` times, of
which the medians are printed. Milliseconds are the program's own (`--json`, `profile`): total is a picture from file to
text without loading the model; LM head is all its runs together.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("total", "vision", "prefill", "decode", "lm_head")


def read_pages(arguments: argparse.Namespace, threads: int) -> list[dict]:
    """The records of the measured readings."""
    count = arguments.warmup + arguments.repeats
    command = [str(arguments.program), "--model", str(arguments.model), "--json", "--quiet", "--threads", str(threads),
               "--prompt", arguments.prompt, "--max-new-tokens", str(arguments.max_new_tokens),
               *[str(arguments.image)] * count]
    finished = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if finished.returncode != 0:
        sys.exit(f"hunyuan-ocr failed with status {finished.returncode}:\n{finished.stderr}")
    return [json.loads(line) for line in finished.stdout.splitlines()][arguments.warmup :]


def processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown processor"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown processor"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/bin/hunyuan-ocr")
    parser.add_argument("--model", type=Path, default=ROOT / "models/nano")
    parser.add_argument("--image", type=Path, default=ROOT / "examples/page_512.png")
    parser.add_argument("--prompt", default="Extract the text in the image.")
    parser.add_argument("--max-new-tokens", type=int, default=256)
    arguments = parser.parse_args()
    if arguments.repeats < 1 or arguments.warmup < 0 or min(arguments.threads) < 1:
        parser.error("--repeats and --threads are at least 1, --warmup at least 0")

    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    if load > 0.5:
        print(f"warning: other programs are running (load {load:.1f}); the times mean little")
    tokens: set[tuple[int, ...]] = set()
    for row, threads in enumerate(arguments.threads):
        pages = read_pages(arguments, threads)
        tokens |= {tuple(page["tokens"]) for page in pages}
        profile, image = pages[0]["profile"], pages[0]["image"]
        if row == 0:
            print(f"{processor_name()}, {cores} processors, {profile['instruction_set']}; {arguments.model.name}, "
                  f"{profile['decoder_precision']}\n{arguments.image.name}: grid "
                  f"{'x'.join(map(str, image['grid']))}, {profile['prompt_tokens']} prompt tokens, "
                  f"{profile['generated_tokens']} generated; warm-up {arguments.warmup}, median of "
                  f"{arguments.repeats}")
            print(f"\n{'threads':>7} {'total s':>9} {'vision s':>9} {'prefill s':>9} {'decode s':>9} "
                  f"{'LM head s':>9} {'tokens/s':>9}")
        seconds = {stage: statistics.median(page["profile"][f"{stage}_ms"] for page in pages) / 1000
                   for stage in STAGES}
        # Not the tokens listed: the first comes from the prefill, and one that ends the answer is not listed.
        rate = profile["blocks"] / seconds["decode"] if seconds["decode"] > 0 else 0.0
        print(f"{threads:7} " + " ".join(f"{seconds[stage]:9.3f}" for stage in STAGES) + f" {rate:9.1f}"
              + ("  more threads than processors" if threads > cores else ""), flush=True)
    if len(tokens) > 1:
        sys.exit("the tokens depend on the number of threads")
    print("tokens equal at every number of threads")


if __name__ == "__main__":
    main()
