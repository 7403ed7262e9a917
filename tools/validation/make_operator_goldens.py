"""Makes tests/golden/operators/*.json: values of operators as PyTorch computes them.

Usage: python tools/validation/make_operator_goldens.py   (needs torch; run from the root of the repository)
"""

import json
import pathlib

import torch

FOLDER = pathlib.Path("tests/golden/operators")


def interpolate_positions():
    """The table is given by integers (the test builds the same one), the results are written so that they read back
    exactly. The width is a multiple of 16: PyTorch rounds in another order in the scalar tail of its vector loop."""
    edge, width = 6, 16
    index = torch.arange(edge * edge * width)
    table = ((index * 7919) % 2003 - 1001).float() / 1024
    grids = []
    for height, columns in [(5, 7), (6, 6), (11, 3), (1, 13)]:
        result = torch.nn.functional.interpolate(
            table.reshape(1, edge, edge, width).permute(0, 3, 1, 2),
            size=(height, columns),
            mode="bilinear",
            align_corners=False,
        )
        values = result.permute(0, 2, 3, 1).reshape(-1).tolist()
        grids.append({"height": height, "width": columns, "values": [float(f"{v:.9g}") for v in values]})
    return {"edge": edge, "width": width, "grids": grids}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "interpolate_positions.json"
    path.write_text(json.dumps(interpolate_positions(), separators=(",", ":")).replace("},{", "},\n{") + "\n")


main()
