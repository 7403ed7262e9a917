"""Reads one picture with the official implementation as a user's script would, and prints one JSON object.

compare_with_pytorch.py starts it as a fresh process and times it from outside; the seconds printed here are its parts.
"""

import argparse
import json
import time

started = time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("image")
    parser.add_argument("--prompt", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--max-new-tokens", type=int, default=1024)
    arguments = parser.parse_args()

    import torch
    from PIL import Image, ImageOps
    from transformers import AutoProcessor, HunYuanVLForConditionalGeneration

    torch.set_num_threads(arguments.threads)
    imported = time.perf_counter()
    model = HunYuanVLForConditionalGeneration.from_pretrained(arguments.model, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(arguments.model, backend="pil")
    loaded = time.perf_counter()

    picture = ImageOps.exif_transpose(Image.open(arguments.image)).convert("RGB")
    content = [{"type": "image", "image": picture}, {"type": "text", "text": arguments.prompt}]
    rendered = processor.apply_chat_template([{"role": "user", "content": content}], tokenize=False)
    inputs = processor(images=[picture], text=[rendered], return_tensors="pt")
    with torch.no_grad():
        output = model.generate(**inputs, do_sample=False, max_new_tokens=arguments.max_new_tokens)
    ids = output[0, inputs["input_ids"].shape[1] :].tolist()
    text = processor.decode(ids, skip_special_tokens=True)
    read = time.perf_counter()

    stop_ids = model.generation_config.eos_token_id
    if ids and ids[-1] in (stop_ids if isinstance(stop_ids, list) else [stop_ids]):
        ids.pop()
    print(json.dumps({
        "text": text,
        "ids": ids,
        "import_seconds": imported - started,
        "load_seconds": loaded - imported,
        "read_seconds": read - loaded,
    }))


if __name__ == "__main__":
    main()
