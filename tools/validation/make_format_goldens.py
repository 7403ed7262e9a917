#!/usr/bin/env python3
"""Writes tests/golden/format/official.safetensors with the official safetensors package.

The tests read it, and write the same tensors themselves: both files must be equal byte for byte.
One element type per width, because the official order among types of one width is its own business.

    python tools/validation/make_format_goldens.py      (needs: safetensors, torch)
"""

from pathlib import Path

import torch
from safetensors.torch import save_file

TARGET = Path(__file__).resolve().parents[2] / "tests" / "golden" / "format" / "official.safetensors"


def main() -> None:
    tensors = {
        "layers.1.weight": torch.tensor([[1.0, -2.5, 3.25], [0.1, 65504.0, -0.0]], dtype=torch.bfloat16),
        "layers.0.weight": torch.arange(4, dtype=torch.float32) / 3,
        "scalar": torch.tensor(7, dtype=torch.int64),
        "empty": torch.zeros((0, 4), dtype=torch.float32),
        'name "quoted" 汉字\t': torch.tensor([1, 255, 0], dtype=torch.uint8),
    }
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, TARGET, metadata={"format": "pt"})
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
