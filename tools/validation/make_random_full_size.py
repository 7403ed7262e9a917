"""Writes a random checkpoint folder of HunyuanOCR's full size: 996 208 112 parameters in BF16, about 2 GB.

    python tools/validation/make_random_full_size.py OUT

Laid out as published (old-style config.json, old tensor names, the published special ids and pre-tokenizer). The
vocabulary is models/nano's, filled up to 120 000 entries that never occur. For speed and memory; it reads nothing.
"""

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file

NANO = Path(__file__).resolve().parents[2] / "models" / "nano"
PARAMETERS = 996_208_112
TEXT_LAYERS, VISION_LAYERS = 24, 27
VOCABULARY, ORDINARY_TOKENS = 120_818, 120_000

CONFIG = {
    "architectures": ["HunYuanVLForConditionalGeneration"], "model_type": "hunyuan_vl",
    "attention_bias": False, "attention_dropout": 0.0, "attention_head_dim": 128, "head_dim": 128,
    "bos_token_id": 120000, "eod_token_id": 120020, "eos_token_id": 120020, "hidden_act": "silu", "hidden_size": 1024,
    "image_end_token_id": 120119, "image_newline_token_id": 120121, "image_start_token_id": 120118,
    "image_token_id": 120120, "initializer_range": 0.02, "intermediate_size": 3584,
    "max_position_embeddings": 131072, "num_attention_heads": 16, "num_hidden_layers": TEXT_LAYERS,
    "num_key_value_heads": 8, "org_vocab_size": VOCABULARY, "pad_id": 120002, "pad_token_id": 120002,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "alpha": 1000.0, "beta_fast": 32, "beta_slow": 1, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
        "type": "xdrope", "xdrope_section": [16, 16, 16, 16],
    },
    "rope_theta": 10000.0, "tie_word_embeddings": True, "torch_dtype": "bfloat16", "use_cache": True,
    "use_qk_norm": True, "vocab_size": VOCABULARY,
    "vision_config": {
        "hidden_act": "gelu", "hidden_size": 1152, "img_max_token_num": 4096, "intermediate_size": 4304,
        "interpolate_mode": "bilinear", "max_image_size": 2048, "max_vit_seq_len": 16384, "min_image_size": 512,
        "num_attention_heads": 16, "num_channels": 3, "num_hidden_layers": VISION_LAYERS, "out_hidden_size": 1024,
        "patch_size": 16, "rms_norm_eps": 1e-05, "spatial_merge_size": 2, "temporal_patch_size": 1,
        "text_hidden_size": 1024,
    },
}
GENERATION_CONFIG = {"bos_token_id": 120000, "do_sample": False, "eos_token_id": [120007, 120020],
                     "pad_token_id": 120002, "repetition_penalty": 1.08}
PREPROCESSOR_CONFIG = {
    "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_processor_type": "HunYuanVLImageProcessor",
    "image_std": [0.26862954, 0.26130258, 0.27577711], "max_pixels": 16777216, "merge_size": 2, "min_pixels": 262144,
    "patch_size": 16, "resample": 1, "temporal_patch_size": 1,
}

# The published pre-tokenizer: digits, Chinese and kana, everything else; then bytes.
SPLITS = (
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
NAMED_TOKENS = {120000: "<｜hy_begin▁of▁sentence｜>", 120001: "<｜hy_end▁of▁sentence｜>", 120002: "<｜hy_▁pad▁｜>",
                120006: "<｜hy_User｜>", 120007: "<｜hy_Assistant｜>", 120008: "<｜hy_EOT｜>"}
FIRST_PLACEHOLDER = 120018  # Place holder number 0; number 3 ends the system text, number 100 begins an image.


def text_shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (VOCABULARY, 1024)}
    for layer in range(TEXT_LAYERS):
        prefix = f"model.layers.{layer}."
        shapes |= {f"{prefix}{name}.weight": (1024,) for name in ("input_layernorm", "post_attention_layernorm")}
        shapes |= {f"{prefix}self_attn.{name}.weight": (128,) for name in ("query_layernorm", "key_layernorm")}
        for name, rows, columns in (("q", 2048, 1024), ("k", 1024, 1024), ("v", 1024, 1024), ("o", 1024, 2048)):
            shapes[f"{prefix}self_attn.{name}_proj.weight"] = (rows, columns)
        for name, rows, columns in (("gate", 3584, 1024), ("up", 3584, 1024), ("down", 1024, 3584)):
            shapes[f"{prefix}mlp.{name}_proj.weight"] = (rows, columns)
    return shapes | {"model.norm.weight": (1024,)}


def vision_shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "vit.embeddings.patch_embedding.weight": (1152, 3, 16, 16),
        "vit.embeddings.patch_embedding.bias": (1152,),
        "vit.embeddings.position_embedding.weight": (128 * 128 + 1, 1152),
    }
    for layer in range(VISION_LAYERS):
        prefix = f"vit.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            shapes |= {f"{prefix}{name}.weight": (1152,), f"{prefix}{name}.bias": (1152,)}
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            shapes |= {f"{prefix}self_attn.{name}.weight": (1152, 1152), f"{prefix}self_attn.{name}.bias": (1152,)}
        shapes |= {f"{prefix}mlp.dense_h_to_4h.weight": (4304, 1152), f"{prefix}mlp.dense_h_to_4h.bias": (4304,)}
        shapes |= {f"{prefix}mlp.dense_4h_to_h.weight": (1152, 4304), f"{prefix}mlp.dense_4h_to_h.bias": (1152,)}
    shapes |= {f"vit.perceive.{name}": (1024,) for name in ("image_begin", "image_end", "image_sep")}
    return shapes | {
        "vit.perceive.image_newline": (4608,),
        "vit.perceive.before_rms.weight": (1152,),
        "vit.perceive.proj.0.weight": (2304, 1152, 2, 2),
        "vit.perceive.proj.0.bias": (2304,),
        "vit.perceive.proj.2.weight": (4608, 2304, 1, 1),
        "vit.perceive.proj.2.bias": (4608,),
        "vit.perceive.mlp.weight": (1024, 4608),
        "vit.perceive.mlp.bias": (1024,),
        "vit.perceive.after_rms.weight": (1024,),
    }


def random_tensor(name: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    values = torch.empty(shape, dtype=torch.bfloat16).normal_(0, 0.02, generator=generator)
    return values + 1 if name.endswith(("norm.weight", "rms.weight")) else values


def write_json(path: Path, value: object, indent: int | None = 2) -> None:
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")


def write_tokenizer(folder: Path) -> None:
    tokenizer = json.loads((NANO / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    special = {token["content"] for token in tokenizer["added_tokens"]}
    vocabulary = {token: number for token, number in vocabulary.items() if token not in special}
    for number in range(len(vocabulary), ORDINARY_TOKENS):
        vocabulary[f"<unused_{number}>"] = number
    tokenizer["model"]["vocab"] = vocabulary
    names = {
        number: f"<｜hy_place▁holder▁no▁{number - FIRST_PLACEHOLDER}｜>" if number >= FIRST_PLACEHOLDER
        else NAMED_TOKENS.get(number, f"<｜hy_reserved▁{number}｜>")
        for number in range(ORDINARY_TOKENS, VOCABULARY)
    }
    tokenizer["added_tokens"] = [
        {"id": number, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
         "special": True}
        for number, name in names.items()
    ]
    splits = [{"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
              for pattern in SPLITS]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [*splits, byte_level]}
    write_json(folder / "tokenizer.json", tokenizer, indent=None)
    for name in ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"):
        shutil.copyfile(NANO / name, folder / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", CONFIG)
    write_json(folder / "generation_config.json", GENERATION_CONFIG)
    write_json(folder / "preprocessor_config.json", PREPROCESSOR_CONFIG)
    write_tokenizer(folder)

    generator = torch.Generator().manual_seed(0)
    weight_map: dict[str, str] = {}
    parameters = 0
    for file_name, shapes in (("model-00001-of-00002.safetensors", vision_shapes()),
                              ("model-00002-of-00002.safetensors", text_shapes())):
        tensors = {name: random_tensor(name, shape, generator) for name, shape in shapes.items()}
        save_file(tensors, folder / file_name, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(tensors, file_name)
        parameters += sum(tensor.numel() for tensor in tensors.values())
    if parameters != PARAMETERS:
        raise RuntimeError(f"{parameters} parameters written, {PARAMETERS} expected")
    write_json(folder / "model.safetensors.index.json",
               {"metadata": {"total_size": 2 * parameters}, "weight_map": dict(sorted(weight_map.items()))})
    print(f"{folder}: {parameters} parameters")


if __name__ == "__main__":
    main()
