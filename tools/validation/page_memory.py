"""The memory that `--stats` promises for a full page, beside what the process takes.

    python -m tools.validation.page_memory
    python -m tools.validation.page_memory --precision bf16

An A4 page at 300 dpi (2480 x 3508: 34 320 patches, 8 692 visual tokens) is read at its full size, in a process of its
own, on a copy of the tiny test model whose context is long enough. Prints the estimate and the peak resident memory of
the process. Exit status: 0 when the two differ by at most 15 % of the estimate, else 1. Times do not count here: the
page takes a minute or several, and other programs may run beside it. Needs no package.
"""

import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH, HEIGHT = 2480, 3508
MAX_PIXELS = 10_000_000  # above the page, its sides rounded up to whole patches
CONTEXT = 16384
LARGEST_DIFFERENCE = 0.15
ESTIMATE = re.compile(r": needs ([0-9.]+) MiB: (.*)")
SIZES = re.compile(r"(\d+)x(\d+) pixels read at (\d+)x(\d+), grid (\d+)x(\d+), (\d+) visual tokens")


def write_page(path: Path) -> None:
    """Grey lines on white, as PNG: memory depends on the sides alone."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes([96 if y % 40 < 3 else 255]) * WIDTH for y in range(HEIGHT))
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
                     chunk(b"IEND", b""))


def copy_model(source: Path, target: Path) -> None:
    """The model's files by link, but a configuration with a context of at least CONTEXT positions."""
    target.mkdir()
    for file in source.iterdir():
        if file.name != "config.json":
            (target / file.name).symlink_to(file.resolve())
    config = json.loads((source / "config.json").read_text())
    # Published configurations keep the decoder's keys at the top or one level down.
    holders = [part for part in (config, config.get("text_config")) if part and "max_position_embeddings" in part]
    if not holders:
        sys.exit(f"{source}/config.json has no max_position_embeddings")
    for part in holders:
        part["max_position_embeddings"] = max(CONTEXT, part["max_position_embeddings"])
    (target / "config.json").write_text(json.dumps(config))


def read_page(arguments: argparse.Namespace, model: Path, page: Path) -> tuple[str, int]:
    """What the command says on standard error, and the peak resident bytes of its process."""
    command = [str(arguments.program), "--model", str(model), "--stats", "--precision", arguments.precision, "--threads",
               str(arguments.threads), "--max-pixels", str(MAX_PIXELS), "--max-new-tokens", "1", "--prompt", "text",
               str(page)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{arguments.program} failed with status {process.returncode}:\n{errors}")
    return errors, usage.ru_maxrss * 1024  # Linux counts it in KiB


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/bin/hunyuan-ocr")
    parser.add_argument("--model", type=Path, default=ROOT / "tests/data/tiny")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_model(arguments.model, folder / "model")
        write_page(folder / "page.png")
        said, peak_bytes = read_page(arguments, folder / "model", folder / "page.png")
    estimate, sizes = ESTIMATE.search(said), SIZES.search(said)
    if not estimate or not sizes:
        sys.exit(f"--stats printed neither the estimate nor the sizes that are looked for:\n{said}")
    width, height, read_width, read_height, rows, columns, tokens = map(int, sizes.groups())
    if (width, height) != (WIDTH, HEIGHT) or read_width < WIDTH - 32 or read_height < HEIGHT - 32:  # whole patches
        sys.exit(f"the page was not read at its full size: {sizes.group()}")

    promised, taken = float(estimate.group(1)), peak_bytes / 2**20
    difference = taken / promised - 1
    print(f"{WIDTH} x {HEIGHT} pixels, {rows * columns} patches, {tokens} visual tokens, {arguments.precision}, "
          f"{arguments.threads} threads")
    print(f"estimate      {promised:8.1f} MiB   ({estimate.group(2)})")
    print(f"peak resident {taken:8.1f} MiB   ({difference:+.1%}; at most {LARGEST_DIFFERENCE:.0%} either way)")
    return 0 if abs(difference) <= LARGEST_DIFFERENCE else 1


if __name__ == "__main__":
    sys.exit(main())
