"""Writes a model as a package in the published layout: bfloat16 safetensors beside the package's other files."""

import os
import pathlib
import shutil

import torch
from safetensors.torch import load_file, save_file

from model import PACKAGE_PREFIX

COPIED_FILES = ("chat_template.jinja", "config.json", "generation_config.json", "preprocessor_config.json",
                "special_tokens_map.json", "tasks.json", "tokenizer.json", "tokenizer_config.json")


def write_package(state, template, output):
    """Writes `state` (names of model.HunyuanOcr) to the folder `output`; all else comes from the package `template`.

    The weights are refused when their names or shapes differ from the template's, or when one is not finite.
    """
    template, output = pathlib.Path(template), pathlib.Path(output)
    output.mkdir(parents=True, exist_ok=True)
    tensors = {PACKAGE_PREFIX + name: tensor.detach().to("cpu", torch.bfloat16).contiguous()
               for name, tensor in state.items()}
    expected = {name: tuple(tensor.shape) for name, tensor in load_file(str(template / "model.safetensors")).items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if found != expected:
        different = sorted(set(found.items()) ^ set(expected.items()))
        raise ValueError(f"{template}: tensors differ from those to be written: {different[:4]}")
    broken = [name for name, tensor in tensors.items() if not torch.isfinite(tensor).all()]
    if broken:
        raise ValueError(f"not finite: {', '.join(broken)}; the training diverged")
    for name in COPIED_FILES:
        if output.resolve() != template.resolve():
            shutil.copyfile(template / name, output / name)
    partial = output / "model.safetensors.partial"
    save_file(tensors, str(partial), metadata={"format": "pt"})
    os.replace(partial, output / "model.safetensors")
