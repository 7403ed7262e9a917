"""Regenerates the tiny model, the pictures and every golden of tests/golden/hunyuan_vl from nothing.

Run in a virtual environment with requirements.txt installed: python tools/validation/make_goldens.py
The layout of what it writes is documented in tests/golden/README.md.
"""

import argparse
import json
import os
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file

import pictures
import tiny_model
from reference import Inputs, Reference, Request, Stages, rgb_crc32

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "hunyuan_vl"
PICTURES = "tests/data/pictures"
TINY, NANO = "tests/data/tiny", "models/nano"
EXTRACT = "Extract the text in the image."
# The official doc_parse prompt: many distinct ids, so that a penalty that forgets the prompt shows.
PARSE = ("提取文档图片中正文的所有信息用markdown格式表示，其中页眉、页脚部分忽略，表格用html格式表达，文档中公式用latex格式表示，"
         "按照阅读顺序组织进行解析。")

TINY_CASES = {
    "square": Request([f"{PICTURES}/square.png"], EXTRACT),
    "wide": Request([f"{PICTURES}/wide.png"], EXTRACT),
    "tall": Request([f"{PICTURES}/tall.png"], PARSE),
    "two_images": Request([f"{PICTURES}/wide.png", f"{PICTURES}/small.png"], "What changed?"),
    "system": Request([f"{PICTURES}/small.png"], EXTRACT, system="You read documents."),
    "text_first": Request([f"{PICTURES}/square.png"], EXTRACT, text_first=True),
    "large_jpeg": Request([f"{PICTURES}/large.jpg"], EXTRACT),
    "transparent": Request([f"{PICTURES}/transparent.png"], EXTRACT),
    "turned_jpeg": Request([f"{PICTURES}/turned.jpg"], EXTRACT),
}
NANO_CASES = {
    "square": Request([f"{PICTURES}/text_square.png"], EXTRACT),
    "wide": Request([f"{PICTURES}/text_wide.png"], EXTRACT),
    "tall": Request([f"{PICTURES}/text_tall.png"], EXTRACT),
    "two_images": Request([f"{PICTURES}/text_label.png", f"{PICTURES}/text_wide.png"], EXTRACT),
}
# Pictures made by other programs (make_foreign_pictures.sh), and those of the README.
NANO_CASES |= {
    f"foreign_{name}": Request([f"tests/data/foreign/{name}.png"], EXTRACT)
    for name in ("pdf_page", "groff_page", "web_page")
}
NANO_CASES |= {
    f"example_{name}": Request([f"examples/{name}.png"], EXTRACT) for name in ("page_512", "receipt", "sign")
}
# Cases whose every stage is stored; the others store their ids only.
TINY_STAGES = ("square", "wide", "tall", "two_images")
NANO_STAGES = ("square", "wide", "tall", "two_images")

TINY_PENALTIES, TINY_NEW_TOKENS = (1.0, 1.08), 40
NANO_PENALTIES, NANO_NEW_TOKENS = (1.0,), 200
# Below this difference of the two best scores another order of additions could choose the other token.
SMALLEST_MARGIN = 1e-3


def spread_rows(count: int, wanted: list[int], limit: int) -> list[int]:
    """The wanted rows, and evenly spaced ones (first and last among them) until `limit`, ascending."""
    rows = {row for row in wanted if 0 <= row < count}
    even = max(2, limit - len(rows))
    rows |= {round(index * (count - 1) / (even - 1)) for index in range(even)}
    return sorted(rows)


def marked_rows(grid: tuple[int, int]) -> list[int]:
    """Rows of one image's visual tokens: begin, newline of the first row, first of the second, last newline, end."""
    height, width = grid[0] // 2, grid[1] // 2
    return [0, 1, 1 + width, 2 + width, height * (width + 1), height * (width + 1) + 1]


def pick(tensors: dict[str, torch.Tensor], name: str, tensor: torch.Tensor, rows: list[int]) -> None:
    tensors[name] = tensor[rows].contiguous()
    tensors[f"{name}.rows"] = torch.tensor(rows, dtype=torch.int32)


def stage_tensors(inputs: Inputs, stages: Stages, limit: int) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = {}
    for image, grid in enumerate(inputs.grids):
        patches = grid[0] * grid[1]
        for name in ("pixels", "patch_embedding", "vision_layer_first", "vision_layer_last"):
            count = min(limit, 6) if name == "pixels" else limit
            wanted = [] if name == "pixels" else [1, grid[1] - 1, grid[1]]
            pick(tensors, f"{name}.{image}", stages.image[name][image], spread_rows(patches, wanted, count))
        rows = spread_rows(inputs.visual_tokens[image], marked_rows(grid), limit)
        pick(tensors, f"merger.{image}", stages.image["merger"][image], rows)

    wanted = []
    start = inputs.tensors["mm_token_type_ids"][0].tolist().index(1)
    for count, grid in zip(inputs.visual_tokens, inputs.grids):
        wanted += [start + row for row in marked_rows(grid)][: 6 if len(inputs.grids) == 1 else 3]
        start += count + 2
    length = len(inputs.input_ids)
    for name in ("embedded", "decoder_layer_first", "decoder_layer_last"):
        pick(tensors, name, stages.sequence[name], spread_rows(length, wanted, limit))
    tensors["positions"] = stages.sequence["positions"].to(torch.int32).contiguous()
    tensors["logits"] = stages.sequence["logits"].contiguous()
    return tensors


def check_penalty_scope(reference: Reference) -> None:
    """Some case must show a penalty that covers the generated ids alone."""
    inputs = reference.prepare(TINY_CASES["tall"])
    whole, answer_alone = (
        reference.generate(inputs, 1.08, 32, penalise_prompt=penalise_prompt)["ids"] for penalise_prompt in (True, False)
    )
    if whole == answer_alone:
        raise RuntimeError("tiny tall: penalising the prompt changes nothing")


def write_case(folder: Path, name: str, package: str, reference: Reference, request: Request, with_stages: bool,
               penalties: tuple[float, ...], max_new_tokens: int) -> dict:
    inputs = reference.prepare(request)
    case = {
        "model": package,
        "images": request.images,
        "system": request.system,
        "prompt": request.prompt,
        "text_first": request.text_first,
        "input_ids": inputs.input_ids,
        "image_details": [
            {
                "width": original[0],
                "height": original[1],
                "resized_width": picture.width,
                "resized_height": picture.height,
                "resized_pixels_crc32": rgb_crc32(picture),
                "grid": list(grid),
                "visual_tokens": visual_tokens,
            }
            for original, picture, grid, visual_tokens in zip(
                inputs.original_sizes, inputs.resized, inputs.grids, inputs.visual_tokens
            )
        ],
        "generations": [reference.generate(inputs, penalty, max_new_tokens) for penalty in penalties],
    }
    for generation in case["generations"]:
        if generation["smallest_margin"] < SMALLEST_MARGIN:
            raise RuntimeError(f"{package} {name}: a near-tie of {generation['smallest_margin']}; change the picture")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(case, ensure_ascii=False) + "\n", encoding="utf-8")
    if with_stages:
        tensors = stage_tensors(inputs, reference.forward(inputs), limit=12)
        save_file(tensors, folder / f"{name}.safetensors")
        os.chmod(folder / f"{name}.safetensors", 0o644)
    print(f"{package} {name}: {[generation['text'][:60] for generation in case['generations']]}", flush=True)
    return case


def check_discrimination(cases: dict[str, dict]) -> None:
    """The random weights must show a fault: ids vary, follow the image, and (four cases) follow the penalty."""
    for name, case in cases.items():
        plain, penalised = (generation["ids"][:32] for generation in case["generations"])
        if len(plain) < 32 or len(penalised) < 32:
            raise RuntimeError(f"tiny {name}: stopped before 32 tokens")
        if len(set(plain)) < 16 or len(set(penalised)) < 16:
            raise RuntimeError(f"tiny {name}: {len(set(plain))}, {len(set(penalised))} distinct ids of 32; at least 16")
        if plain == penalised and name in TINY_STAGES:
            raise RuntimeError(f"tiny {name}: the repetition penalty changes nothing")
    if cases["square"]["generations"] != cases["text_first"]["generations"]:
        raise RuntimeError("tiny: the place of the text in the request changes the ids")
    if cases["square"]["input_ids"] != cases["text_first"]["input_ids"]:
        raise RuntimeError("tiny: the place of the text in the request changes the prompt")
    extracting = ("square", "wide", "large_jpeg", "transparent", "turned_jpeg")
    if len({tuple(cases[name]["generations"][0]["ids"]) for name in extracting}) != len(extracting):
        raise RuntimeError("tiny: the ids do not change with the image")


def make_tiny() -> None:
    tiny_model.write_tiny_model(ROOT / TINY, ROOT / NANO)
    pictures.draw_tiny_pictures(ROOT / PICTURES)
    reference = Reference(ROOT, TINY)
    shutil.rmtree(GOLDEN / "tiny", ignore_errors=True)
    check_discrimination({
        name: write_case(GOLDEN / "tiny", name, TINY, reference, request, name in TINY_STAGES, TINY_PENALTIES,
                         TINY_NEW_TOKENS)
        for name, request in TINY_CASES.items()
    })
    check_penalty_scope(reference)


def make_nano() -> None:
    pictures.draw_nano_pictures(ROOT / PICTURES)
    pictures.draw_examples(ROOT / "examples")
    reference = Reference(ROOT, NANO)
    shutil.rmtree(GOLDEN / "nano", ignore_errors=True)
    cases = {
        name: write_case(GOLDEN / "nano", name, NANO, reference, request, name in NANO_STAGES, NANO_PENALTIES,
                         NANO_NEW_TOKENS)
        for name, request in NANO_CASES.items()
    }
    page = cases["foreign_web_page"]["image_details"][0]
    if (page["grid"], page["visual_tokens"]) != ([32, 32], 274):
        raise RuntimeError(f"a 512 x 512 page has grid {page['grid']}, {page['visual_tokens']} visual tokens")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("tiny", "nano"), help="regenerate this part alone")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.only in (None, "tiny"):
        make_tiny()
    if arguments.only in (None, "nano"):
        make_nano()


if __name__ == "__main__":
    main()
