"""Writes tests/data/tiny: a random checkpoint folder of HunyuanOCR's topology, about 1 MB.

It is laid out as the published checkpoint is (old-style config.json, old tensor names), but in two shards and with
tensors in F32, F16 and BF16, so that each form the loader accepts is used. The sizes hit the tails of vector code, and
no parameter has a neutral value (no norm weight is one, no bias is zero, the epsilons are large and differ), so that a
wiring fault changes the output.
Called by make_goldens.py.
"""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

SEED = 15

VISION = {"hidden": 72, "heads": 3, "intermediate": 100, "layers": 3, "patch": 16, "edge": 8}
TEXT = {"hidden": 80, "heads": 4, "key_value_heads": 2, "head_dim": 24, "intermediate": 136, "layers": 5,
        "vocabulary": 1024}

CONFIG = {
    "architectures": ["HunYuanVLForConditionalGeneration"],
    "model_type": "hunyuan_vl",
    "attention_bias": False,
    "attention_dropout": 0.0,
    "attention_head_dim": TEXT["head_dim"],
    "bos_token_id": 1000,
    "eod_token_id": 1001,
    "eos_token_id": 1004,
    "hidden_act": "silu",
    "hidden_size": TEXT["hidden"],
    "image_end_token_id": 1008,
    "image_newline_token_id": 1010,
    "image_start_token_id": 1007,
    "image_token_id": 1009,
    "initializer_range": 0.02,
    "intermediate_size": TEXT["intermediate"],
    "max_position_embeddings": 2048,
    "num_attention_heads": TEXT["heads"],
    "num_hidden_layers": TEXT["layers"],
    "num_key_value_heads": TEXT["key_value_heads"],
    "org_vocab_size": TEXT["vocabulary"],
    "pad_id": 1002,
    "pad_token_id": 1002,
    "rms_norm_eps": 0.002,
    "rope_scaling": {
        "alpha": 1000.0,
        "beta_fast": 32,
        "beta_slow": 1,
        "factor": 1.0,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "type": "xdrope",
        "xdrope_section": [3, 3, 3, 3],
    },
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "use_cache": True,
    "use_qk_norm": True,
    "vocab_size": TEXT["vocabulary"],
    "vision_config": {
        "hidden_act": "gelu",
        "hidden_size": VISION["hidden"],
        "intermediate_size": VISION["intermediate"],
        "interpolate_mode": "bilinear",
        "max_image_size": VISION["edge"] * VISION["patch"],
        "num_attention_heads": VISION["heads"],
        "num_channels": 3,
        "num_hidden_layers": VISION["layers"],
        "out_hidden_size": TEXT["hidden"],
        "patch_size": VISION["patch"],
        "rms_norm_eps": 0.001,
        "spatial_merge_size": 2,
        "temporal_patch_size": 1,
        "text_hidden_size": TEXT["hidden"],
    },
}

GENERATION_CONFIG = {
    "bos_token_id": 1000,
    "do_sample": False,
    "eos_token_id": [1004, 1001],
    "pad_token_id": 1002,
    "repetition_penalty": 1.08,
}

PREPROCESSOR_CONFIG = {
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_processor_type": "HunYuanVLImageProcessor",
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "max_pixels": 24576,
    "merge_size": 2,
    "min_pixels": 4096,
    "patch_size": 16,
    "resample": 1,
    "temporal_patch_size": 1,
}

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")


def _random_tensors() -> dict[str, torch.Tensor]:
    """All tensors under their names on disk, float32. Numpy's generator: its stream is fixed by its version policy."""
    generator = np.random.Generator(np.random.PCG64(SEED))

    def normal(*shape: int, std: float, mean: float = 0.0) -> torch.Tensor:
        values = generator.standard_normal(shape, dtype=np.float32)
        return torch.from_numpy(values * np.float32(std) + np.float32(mean))

    def linear(outputs: int, *inputs: int, gain: float = 1.0) -> torch.Tensor:
        return normal(outputs, *inputs, std=gain / float(np.prod(inputs)) ** 0.5)

    tensors: dict[str, torch.Tensor] = {}

    hidden, intermediate = VISION["hidden"], VISION["intermediate"]
    tensors["vit.embeddings.patch_embedding.weight"] = linear(hidden, 3, VISION["patch"], VISION["patch"])
    tensors["vit.embeddings.patch_embedding.bias"] = normal(hidden, std=0.2)
    tensors["vit.embeddings.position_embedding.weight"] = normal(VISION["edge"] ** 2 + 1, hidden, std=0.7)
    for layer in range(VISION["layers"]):
        prefix = f"vit.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{prefix}{name}.weight"] = normal(hidden, std=0.2, mean=1.0)
            tensors[f"{prefix}{name}.bias"] = normal(hidden, std=0.2)
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            gain = 1.6 if name in ("q_proj", "k_proj") else 1.0
            tensors[f"{prefix}self_attn.{name}.weight"] = linear(hidden, hidden, gain=gain)
            tensors[f"{prefix}self_attn.{name}.bias"] = normal(hidden, std=0.2)
        tensors[f"{prefix}mlp.dense_h_to_4h.weight"] = linear(intermediate, hidden, gain=2.0)
        tensors[f"{prefix}mlp.dense_h_to_4h.bias"] = normal(intermediate, std=0.2)
        tensors[f"{prefix}mlp.dense_4h_to_h.weight"] = linear(hidden, intermediate, gain=2.5)
        tensors[f"{prefix}mlp.dense_4h_to_h.bias"] = normal(hidden, std=0.2)
    tensors["vit.perceive.before_rms.weight"] = normal(hidden, std=0.2, mean=1.0)
    tensors["vit.perceive.proj.0.weight"] = linear(2 * hidden, hidden, 2, 2, gain=2.0)
    tensors["vit.perceive.proj.0.bias"] = normal(2 * hidden, std=0.2)
    tensors["vit.perceive.proj.2.weight"] = linear(4 * hidden, 2 * hidden, 1, 1, gain=1.5)
    tensors["vit.perceive.proj.2.bias"] = normal(4 * hidden, std=0.2)
    tensors["vit.perceive.image_newline"] = normal(4 * hidden, std=1.0)
    tensors["vit.perceive.mlp.weight"] = linear(TEXT["hidden"], 4 * hidden)
    tensors["vit.perceive.mlp.bias"] = normal(TEXT["hidden"], std=0.2)
    for name in ("image_begin", "image_end", "image_sep"):
        tensors[f"vit.perceive.{name}"] = normal(TEXT["hidden"], std=1.0)
    tensors["vit.perceive.after_rms.weight"] = normal(TEXT["hidden"], std=0.2, mean=1.0)

    hidden, intermediate, head_dim = TEXT["hidden"], TEXT["intermediate"], TEXT["head_dim"]
    queries, keys = TEXT["heads"] * head_dim, TEXT["key_value_heads"] * head_dim
    # A small embedding beside large layer outputs: with a tied head the model would else repeat its last token.
    tensors["model.embed_tokens.weight"] = normal(TEXT["vocabulary"], hidden, std=0.5)
    for layer in range(TEXT["layers"]):
        prefix = f"model.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{prefix}{name}.weight"] = normal(hidden, std=0.2, mean=1.0)
        tensors[f"{prefix}self_attn.q_proj.weight"] = linear(queries, hidden)
        tensors[f"{prefix}self_attn.k_proj.weight"] = linear(keys, hidden)
        tensors[f"{prefix}self_attn.v_proj.weight"] = linear(keys, hidden, gain=1.5)
        tensors[f"{prefix}self_attn.o_proj.weight"] = linear(hidden, queries, gain=1.5)
        for name in ("query_layernorm", "key_layernorm"):
            tensors[f"{prefix}self_attn.{name}.weight"] = normal(head_dim, std=0.3, mean=1.5)
        tensors[f"{prefix}mlp.gate_proj.weight"] = linear(intermediate, hidden, gain=1.7)
        tensors[f"{prefix}mlp.up_proj.weight"] = linear(intermediate, hidden, gain=1.7)
        tensors[f"{prefix}mlp.down_proj.weight"] = linear(hidden, intermediate, gain=1.7)
    tensors["model.norm.weight"] = normal(hidden, std=0.2, mean=1.0)
    return tensors


def _stored_type(name: str, index: int) -> torch.dtype:
    """Vectors and one layer's attention in F32, every third matrix in F16, the rest in BF16."""
    if name.startswith("model.layers.1.self_attn.") or name.startswith("vit.layers.1.self_attn.q_proj"):
        return torch.float32
    if name.endswith((".bias", "layernorm.weight", "_rms.weight")):
        return (torch.float32, torch.bfloat16, torch.float16)[index % 3]
    return torch.float16 if index % 3 == 0 else torch.bfloat16


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_tiny_model(folder: Path, tokenizer_folder: Path) -> None:
    """Writes the whole folder anew. `tokenizer_folder` gives the tokenizer's files (models/nano)."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _write_json(folder / "config.json", CONFIG)
    _write_json(folder / "generation_config.json", GENERATION_CONFIG)
    _write_json(folder / "preprocessor_config.json", PREPROCESSOR_CONFIG)
    for name in TOKENIZER_FILES:
        shutil.copyfile(tokenizer_folder / name, folder / name)

    shards: list[dict[str, torch.Tensor]] = [{}, {}]
    for index, (name, tensor) in enumerate(_random_tensors().items()):
        stored = tensor.to(_stored_type(name, index))
        if name.startswith("model.layers.1.self_attn.q_proj"):
            stored = tensor.to(torch.bfloat16).to(torch.float32)  # F32 on disk whose low 16 bits are all zero.
        # The split runs through the decoder: one part of the text tower lies in each file.
        in_first = name.startswith("vit.") or name.startswith("model.layers.0.")
        shards[0 if in_first else 1][name] = stored.contiguous()

    weight_map: dict[str, str] = {}
    total_bytes = 0
    for number, shard in enumerate(shards, start=1):
        file_name = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        save_file(shard, folder / file_name, metadata={"format": "pt"})
        os.chmod(folder / file_name, 0o644)  # The writer makes it private.
        for name, tensor in shard.items():
            weight_map[name] = file_name
            total_bytes += tensor.numel() * tensor.element_size()
    _write_json(
        folder / "model.safetensors.index.json",
        {"metadata": {"total_size": total_bytes}, "weight_map": dict(sorted(weight_map.items()))},
    )
