"""PyTorch's side: one process, which prints one JSON object, seconds by stage.

A picture of 32 x 32 patches through the vision tower, a prompt of ordinary tokens, and single tokens after it; as
`inkstone bench` measures them.
"""

import argparse
import json
import time

import torch
from transformers import HunYuanVLForConditionalGeneration

STEPS = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--format", choices=("f32", "bf16"), required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--stages", nargs="+", required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    kind = {"f32": torch.float32, "bf16": torch.bfloat16}[arguments.format]
    model = HunYuanVLForConditionalGeneration.from_pretrained(arguments.model, dtype=kind,
                                                              attn_implementation="sdpa").eval()
    patch = model.config.vision_config.patch_size
    patches, grid = torch.randn(1024, 3 * patch * patch).to(kind), torch.tensor([[1, 32, 32]])
    ids = torch.arange(arguments.tokens).remainder(1000).unsqueeze(0)

    def prefill():
        return model(input_ids=ids, use_cache=True, logits_to_keep=1)

    def cache_of(output):
        return output.cache if hasattr(output, "cache") else output.past_key_values

    def measured(work, least: int) -> list[float]:
        work()  # warms caches
        seconds = []
        for _ in range(least):
            started = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - started)
        return seconds

    def decode() -> list[float]:
        seconds = []
        for repeat in range(arguments.repeats + 1):
            output = prefill()
            token = output.logits[:, -1:].argmax(-1)
            started = time.perf_counter()
            for _ in range(STEPS):
                output = model(input_ids=token, cache=cache_of(output), use_cache=True, logits_to_keep=1)
                token = output.logits[:, -1:].argmax(-1)
            if repeat > 0:
                seconds.append((time.perf_counter() - started) / STEPS)
        return seconds

    result = {}
    with torch.inference_mode():
        for stage in arguments.stages:
            if stage == "vision":
                result[stage] = measured(lambda: model.get_image_features(patches, grid), arguments.repeats)
            elif stage == "prefill":
                result[stage] = measured(prefill, arguments.repeats)
            else:
                result[stage] = decode()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
