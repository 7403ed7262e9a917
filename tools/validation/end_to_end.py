"""The fixed end-to-end case: a 512 x 512 page, a prompt, greedy tokens, and the public state after them.

    python -m tools.validation.end_to_end        records tests/golden/end_to_end/nano.json from the official class

tests/process/end_to_end_test.py holds the command to that record; replay.py does the same with a model of any size.
"""

import json
from pathlib import Path

import torch

from tools.validation.reference import Reference, Request

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "end_to_end" / "nano.json"
IMAGE = "examples/page_512.png"
PROMPT = "Extract the text in the image."
GRID, VISUAL_TOKENS = [32, 32], 274
# Below this difference of the two best scores another order of additions could choose the other token.
SMALLEST_MARGIN = 1e-3


def official_end_to_end(reference: Reference, repetition_penalty: float, max_new_tokens: int) -> dict:
    """The case as the official class answers it, under the keys of `hunyuan-ocr --json`.

    The sequence is the prompt and the answer. A token that stopped the answer is the current token but no part of it.
    """
    inputs = reference.prepare(Request([IMAGE], PROMPT))
    answer = reference.generate(inputs, repetition_penalty, max_new_tokens)
    length = len(inputs.input_ids) + len(answer["ids"])
    return {
        "image_file": IMAGE,
        "prompt": PROMPT,
        "repetition_penalty": repetition_penalty,
        "max_new_tokens": max_new_tokens,
        "smallest_margin": answer["smallest_margin"],
        "grid": list(inputs.grids[0]),
        "visual_tokens": inputs.visual_tokens[0],
        "first_id": answer["ids"][0],
        "tokens": answer["ids"],
        "text": answer["text"],
        "finish_reason": answer["finish_reason"],
        "state": {
            "sequence_length": length,
            "position": length + int(reference.model.model.rope_deltas[0]),
            "current_token": answer["stop_id"] if answer["finish_reason"] == "stop" else answer["ids"][-1],
            "target_cache_length": reference.cache_length,
            "draft_cache_length": 0,
        },
    }


def main() -> None:
    torch.set_num_threads(1)
    case = official_end_to_end(Reference(ROOT, "models/nano"), repetition_penalty=1.0, max_new_tokens=200)
    if (case["grid"], case["visual_tokens"]) != (GRID, VISUAL_TOKENS):
        raise RuntimeError(f"grid {case['grid']}, {case['visual_tokens']} visual tokens; not {GRID}, {VISUAL_TOKENS}")
    if case["smallest_margin"] < SMALLEST_MARGIN:
        raise RuntimeError(f"a near-tie of {case['smallest_margin']}; change the picture")
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    GOLDEN.write_text(json.dumps(case, ensure_ascii=False) + "\n", encoding="utf-8")
    print(GOLDEN.relative_to(ROOT))


if __name__ == "__main__":
    main()
