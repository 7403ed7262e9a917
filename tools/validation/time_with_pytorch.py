"""The official implementation's side of compare_full_size.py: one process, which prints one JSON object.

Loads a package as a user's script would, reads a picture once to warm up and then `repeats` times. The time to
the first token (vision and prefill) and of each later one is taken where generate() hands over its scores.
"""

import argparse
import json
import resource
import time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("image")
    parser.add_argument("--prompt", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--max-new-tokens", type=int, required=True)
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--precision", choices=("f32", "bf16"), required=True)
    arguments = parser.parse_args()

    import torch
    from PIL import Image, ImageOps
    from transformers import AutoProcessor, HunYuanVLForConditionalGeneration, LogitsProcessor, LogitsProcessorList

    class Stamps(LogitsProcessor):
        def __init__(self) -> None:
            self.seconds: list[float] = []

        def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
            self.seconds.append(time.perf_counter())
            return scores

    torch.set_num_threads(arguments.threads)
    dtype = torch.float32 if arguments.precision == "f32" else torch.bfloat16
    model = HunYuanVLForConditionalGeneration.from_pretrained(arguments.model, dtype=dtype).eval()
    processor = AutoProcessor.from_pretrained(arguments.model, backend="pil")
    picture = ImageOps.exif_transpose(Image.open(arguments.image)).convert("RGB")
    content = [{"type": "image", "image": picture}, {"type": "text", "text": arguments.prompt}]
    rendered = processor.apply_chat_template([{"role": "user", "content": content}], tokenize=False)
    inputs = processor(images=[picture], text=[rendered], return_tensors="pt").to(dtype)

    runs = []
    for _ in range(1 + arguments.repeats):
        stamps = Stamps()
        started = time.perf_counter()
        with torch.no_grad():
            output = model.generate(**inputs, do_sample=False, max_new_tokens=arguments.max_new_tokens,
                                    logits_processor=LogitsProcessorList([stamps]))
        steps = len(stamps.seconds) - 1
        runs.append({"first_token_seconds": stamps.seconds[0] - started,
                     "decode_tokens_per_second": steps / (stamps.seconds[-1] - stamps.seconds[0])})
    stop_ids = model.generation_config.eos_token_id
    ids = output[0, inputs["input_ids"].shape[1] :].tolist()
    if ids[-1] in (stop_ids if isinstance(stop_ids, list) else [stop_ids]):
        ids.pop()
    print(json.dumps({
        "ids": ids,
        "runs": runs[1:],
        "peak_resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }))


if __name__ == "__main__":
    main()
