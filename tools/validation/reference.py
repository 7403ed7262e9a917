"""The official implementation as an oracle: loads a package in FP32, reads a request, captures every stage.

Used by make_goldens.py, end_to_end.py and replay.py. Eager attention, and for goldens one thread: they depend on
nothing but the pinned packages.
"""

import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from transformers import (
    AutoTokenizer,
    HunYuanVLForConditionalGeneration,
    HunYuanVLProcessor,
    LogitsProcessorList,
    RepetitionPenaltyLogitsProcessor,
)
from transformers.models.hunyuan_vl.image_processing_pil_hunyuan_vl import HunYuanVLImageProcessorPil, smart_resize


@dataclass
class Request:
    """What a user asks: pictures, a prompt, maybe a system text. Paths are relative to the repository."""

    images: list[str]
    prompt: str
    system: str = ""
    text_first: bool = False


@dataclass
class Inputs:
    """The official processor's output for a request, and what it did to the pictures."""

    tensors: dict
    input_ids: list[int]
    grids: list[tuple[int, int]]
    visual_tokens: list[int]
    resized: list[Image.Image]
    original_sizes: list[tuple[int, int]]


@dataclass
class Stages:
    """Tensors of one forward pass over the whole prompt; image stages have one entry per image."""

    image: dict[str, list[torch.Tensor]] = field(default_factory=dict)
    sequence: dict[str, torch.Tensor] = field(default_factory=dict)


class Reference:
    """A loaded package. `root` is the repository, `package` a folder in it (an absolute path may lie elsewhere)."""

    def __init__(self, root: Path, package: str):
        self.root = root
        folder = root / package
        self.cache_length = 0  # Tokens whose keys and values the last generate() left in the cache.
        self.model, report = HunYuanVLForConditionalGeneration.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
        )
        for kind in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
            if report[kind]:
                raise RuntimeError(f"{package}: {kind}: {report[kind]}")
        self.model.eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.image_processor = HunYuanVLImageProcessorPil.from_pretrained(folder)
        self.processor = HunYuanVLProcessor(
            image_processor=self.image_processor, tokenizer=self.tokenizer, chat_template=self.tokenizer.chat_template
        )

    def prepare(self, request: Request) -> Inputs:
        """Runs the official processor with the package's chat template; checks its pixels and ids against our own."""
        pictures = [_open_displayed(self.root / path) for path in request.images]
        content = [{"type": "image", "image": picture} for picture in pictures]
        text = {"type": "text", "text": request.prompt}
        content = [text, *content] if request.text_first else [*content, text]
        messages = [{"role": "user", "content": content}]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        rendered = self.processor.apply_chat_template(messages, tokenize=False)
        tensors = dict(self.processor(images=pictures, text=[rendered], return_tensors="pt"))
        grids = [(int(height), int(width)) for _, height, width in tensors["image_grid_thw"]]
        visual_tokens = [(height // 2) * (width // 2 + 1) + 2 for height, width in grids]

        resized = [self._resize(picture) for picture in pictures]
        expected = torch.cat([self._patches(picture) for picture in resized])
        if not torch.equal(tensors["pixel_values"], expected):
            raise RuntimeError(f"{request.images}: the processor's pixels differ from Pillow's bicubic resize")
        input_ids = tensors["input_ids"][0].tolist()
        if input_ids != self._prompt_ids(request, visual_tokens):
            raise RuntimeError(f"{request.images}: the chat template's ids differ from the prompt's rule")
        return Inputs(tensors, input_ids, grids, visual_tokens, resized, [picture.size for picture in pictures])

    def forward(self, inputs: Inputs) -> Stages:
        """One pass over the whole prompt with hooks on the official modules."""
        stages = Stages()
        captured: dict[str, list[torch.Tensor]] = {}

        def keep(name: str):
            def hook(_module, _arguments, output):
                captured.setdefault(name, []).append(output.detach())

            return hook

        tower, decoder = self.model.model.vision_tower, self.model.model.language_model
        modules = {
            "patch_embedding": tower.embeddings,
            "vision_layer_first": tower.layers[0],
            "vision_layer_last": tower.layers[-1],
            "merger": tower.patch_merger,
            "decoder_layer_first": decoder.layers[0],
            "decoder_layer_last": decoder.layers[-1],
        }
        handles = [module.register_forward_hook(keep(name)) for name, module in modules.items()]
        handles.append(
            decoder.register_forward_pre_hook(
                lambda _module, _arguments, named: captured.update(
                    embedded=[named["inputs_embeds"].detach()], positions=[named["position_ids"].detach()]
                ),
                with_kwargs=True,
            )
        )
        with torch.no_grad():
            output = self.model(**inputs.tensors)
        for handle in handles:
            handle.remove()

        patches = [height * width for height, width in inputs.grids]
        stages.image["pixels"] = list(torch.split(inputs.tensors["pixel_values"], patches))
        for name in ("patch_embedding", "vision_layer_first", "vision_layer_last"):
            stages.image[name] = list(torch.split(captured[name][0][0], patches))
        stages.image["merger"] = [tensor[0] for tensor in captured["merger"]]
        for name in ("embedded", "decoder_layer_first", "decoder_layer_last"):
            stages.sequence[name] = captured[name][0][0]
        stages.sequence["positions"] = captured["positions"][0][:, 0]
        stages.sequence["logits"] = output.logits[0, -1]
        return stages

    def visual_tokens(self, inputs: Inputs) -> torch.Tensor:
        """The vision tower and merger alone, for a request of one image: [visual tokens, text width]."""
        captured: list[torch.Tensor] = []
        tower = self.model.model.vision_tower
        handle = tower.patch_merger.register_forward_hook(lambda _module, _arguments, output: captured.append(output))
        with torch.no_grad():
            tower(inputs.tensors["pixel_values"], inputs.tensors["image_grid_thw"])
        handle.remove()
        return captured[0][0]

    def hidden_rows(self, inputs: Inputs) -> torch.Tensor:
        """What goes into the LM head at every token of the prompt, after the final norm: [tokens, text width]."""
        with torch.no_grad():
            return self.model.model(**inputs.tensors).last_hidden_state[0]

    def generate(
        self, inputs: Inputs, repetition_penalty: float, max_new_tokens: int, penalise_prompt: bool = True
    ) -> dict:
        """Greedy ids by the official generate(). `smallest_margin` tells how far the nearest tie was.

        The official penalty covers the prompt; `penalise_prompt=False` leaves the prompt out, to show that it matters.
        """
        own_penalty = LogitsProcessorList()
        if not penalise_prompt:
            own_penalty.append(RepetitionPenaltyLogitsProcessor(repetition_penalty, len(inputs.input_ids)))
        with torch.no_grad():
            output = self.model.generate(
                **inputs.tensors,
                do_sample=False,
                repetition_penalty=repetition_penalty if penalise_prompt else 1.0,
                logits_processor=own_penalty,
                max_new_tokens=max_new_tokens,
                return_dict_in_generate=True,
                output_scores=True,
            )
        self.cache_length = output.cache.get_seq_length()
        ids = output.sequences[0, len(inputs.input_ids) :].tolist()
        margins = [float(best[0] - best[1]) for best in (torch.topk(scores[0], 2).values for scores in output.scores)]
        stop_ids = self.model.generation_config.eos_token_id
        stopped = ids[-1] in stop_ids
        return {
            "repetition_penalty": repetition_penalty,
            "max_new_tokens": max_new_tokens,
            "finish_reason": "stop" if stopped else "length",
            "stop_id": ids.pop() if stopped else None,
            "smallest_margin": round(min(margins), 6),
            "ids": ids,
            "text": self.tokenizer.decode(ids, skip_special_tokens=True),
        }

    def _resize(self, picture: Image.Image) -> Image.Image:
        processor = self.image_processor
        height, width = smart_resize(
            picture.height,
            picture.width,
            factor=processor.patch_size * processor.merge_size,
            min_pixels=processor.size["shortest_edge"],
            max_pixels=processor.size["longest_edge"],
        )
        return picture.resize((width, height), Image.Resampling.BICUBIC)

    def _patches(self, picture: Image.Image) -> torch.Tensor:
        """Normalised patches of a resized picture, row-major, each channel-first."""
        processor = self.image_processor
        size = processor.patch_size
        values = np.asarray(picture).transpose(2, 0, 1)
        values = processor.normalize(
            processor.rescale(values, processor.rescale_factor), processor.image_mean, processor.image_std
        )
        channels, height, width = values.shape
        values = values.reshape(channels, height // size, size, width // size, size).transpose(1, 3, 0, 2, 4)
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32).reshape(-1, channels * size * size))

    def _prompt_ids(self, request: Request, visual_tokens: list[int]) -> list[int]:
        """The prompt's rule written out, without the template: text always stands after the images."""

        def special(token: str) -> int:
            found = self.tokenizer.convert_tokens_to_ids(token)
            if found is None:
                raise RuntimeError(f"the tokenizer has no token {token}")
            return found

        def encode(text: str) -> list[int]:
            return self.tokenizer.encode(text, add_special_tokens=False)

        ids = [special("<｜hy_begin▁of▁sentence｜>")]
        if request.system:
            ids += [*encode(request.system), special("<｜hy_place▁holder▁no▁3｜>")]
        for count in visual_tokens:
            ids += [self.tokenizer.image_start_token_id]
            ids += [self.tokenizer.image_token_id] * count
            ids += [self.tokenizer.image_end_token_id]
        return [*ids, *encode(request.prompt), special("<｜hy_User｜>")]


def rgb_crc32(picture: Image.Image) -> int:
    """CRC-32 of the interleaved RGB bytes, row after row."""
    return zlib.crc32(picture.tobytes())


def _open_displayed(path: Path) -> Image.Image:
    """The picture as displayed: EXIF orientation applied, alpha composited on white, RGB."""
    picture = ImageOps.exif_transpose(Image.open(path))
    if "A" in picture.getbands():
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, (255, 255, 255, 255)), picture)
    return picture.convert("RGB")
