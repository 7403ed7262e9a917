"""The model in training form: HunyuanOCR's architecture with the published parameter names.

Written for batches of pictures of one size, which is how training feeds it; equal to the official class (test_train.py
compares their logits). A package's tensors are `model.` + the names here.
"""

import dataclasses
import json
import math
import pathlib

import torch
import torch.nn.functional as functional
from safetensors.torch import load_file
from torch import nn

PACKAGE_PREFIX = "model."


@dataclasses.dataclass(frozen=True)
class Config:
    """The numbers of a package's config.json that the model needs."""

    vocabulary: int
    hidden: int
    feed_forward: int
    layers: int
    heads: int
    key_value_heads: int
    head_size: int
    norm_epsilon: float
    rotary_theta: float
    rotary_alpha: float
    rotary_sections: tuple
    vision_hidden: int
    vision_feed_forward: int
    vision_layers: int
    vision_heads: int
    patch: int
    merge: int
    position_edge: int
    begin: int
    stop: int
    padding: int
    image: int
    image_start: int
    image_end: int

    @staticmethod
    def load(package):
        config = json.loads((pathlib.Path(package) / "config.json").read_text())
        text, vision = config["text_config"], config["vision_config"]
        rotary = text["rope_parameters"]
        return Config(
            vocabulary=text["vocab_size"], hidden=text["hidden_size"], feed_forward=text["intermediate_size"],
            layers=text["num_hidden_layers"], heads=text["num_attention_heads"],
            key_value_heads=text["num_key_value_heads"], head_size=text["head_dim"],
            norm_epsilon=text["rms_norm_eps"], rotary_theta=rotary["rope_theta"], rotary_alpha=rotary["alpha"],
            rotary_sections=tuple(rotary["mrope_section"]), vision_hidden=vision["hidden_size"],
            vision_feed_forward=vision["intermediate_size"], vision_layers=vision["num_hidden_layers"],
            vision_heads=vision["num_attention_heads"], patch=vision["patch_size"],
            merge=vision["spatial_merge_size"], position_edge=vision["max_image_size"] // vision["patch_size"],
            begin=config["bos_token_id"], stop=config["eos_token_id"], padding=config["pad_token_id"],
            image=config["image_token_id"], image_start=config["image_start_token_id"],
            image_end=config["image_end_token_id"])


class RmsNorm(nn.Module):
    def __init__(self, size, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, x):
        return functional.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), self.epsilon)


def joined_linear(x, *projections):
    """Several projections of one input as one matrix product; returns their results."""
    weight = torch.cat([projection.weight for projection in projections])
    bias = None
    if projections[0].bias is not None:
        bias = torch.cat([projection.bias for projection in projections])
    sizes = [projection.out_features for projection in projections]
    return functional.linear(x, weight, bias).split(sizes, -1)


# ---- vision


class VisionAttention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(hidden, hidden))

    def forward(self, x):
        batch, tokens, hidden = x.shape
        query, key, value = (part.view(batch, tokens, self.heads, -1).transpose(1, 2)
                             for part in joined_linear(x, self.q_proj, self.k_proj, self.v_proj))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, tokens, hidden))


class VisionMlp(nn.Module):
    def __init__(self, hidden, feed_forward):
        super().__init__()
        self.fc1 = nn.Linear(hidden, feed_forward)
        self.fc2 = nn.Linear(feed_forward, hidden)

    def forward(self, x):
        return self.fc2(functional.gelu(self.fc1(x)))


class VisionLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        hidden = config.vision_hidden
        self.layer_norm1 = nn.LayerNorm(hidden, eps=config.norm_epsilon)
        self.layer_norm2 = nn.LayerNorm(hidden, eps=config.norm_epsilon)
        self.self_attn = VisionAttention(hidden, config.vision_heads)
        self.mlp = VisionMlp(hidden, config.vision_feed_forward)

    def forward(self, x):
        x = x + self.self_attn(self.layer_norm1(x))
        return x + self.mlp(self.layer_norm2(x))


class VisionEmbeddings(nn.Module):
    """Patches and the position table, whose entry 0 (a class token) is unused."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.patch_embedding = nn.Conv2d(3, config.vision_hidden, config.patch, config.patch)
        self.position_embedding = nn.Embedding(config.position_edge ** 2 + 1, config.vision_hidden)

    def forward(self, pictures):
        edge, patch = self.config.position_edge, self.config.patch
        batch, _, height, width = pictures.shape
        rows, columns = height // patch, width // patch
        patches = pictures.view(batch, 3, rows, patch, columns, patch).permute(0, 2, 4, 1, 3, 5).reshape(
            batch, rows * columns, -1)
        x = functional.linear(patches, self.patch_embedding.weight.flatten(1), self.patch_embedding.bias)
        table = self.position_embedding.weight[1:].float().T.view(1, -1, edge, edge)
        table = functional.interpolate(table, size=(rows, columns), mode="bilinear", align_corners=False)
        return x + table.flatten(2).transpose(1, 2)


class PatchMerger(nn.Module):
    """Four patches to one token, a newline token after each row, begin and end tokens around."""

    def __init__(self, config):
        super().__init__()
        hidden, merge = config.vision_hidden, config.merge
        self.merge = merge
        self.before_rms = RmsNorm(hidden, config.norm_epsilon)
        self.after_rms = RmsNorm(config.hidden, config.norm_epsilon)
        self.proj_conv = nn.Conv2d(hidden, 2 * hidden, merge, merge)
        self.proj_out = nn.Conv2d(2 * hidden, 4 * hidden, 1)
        self.mlp = nn.Linear(4 * hidden, config.hidden)
        self.image_newline = nn.Parameter(torch.zeros(4 * hidden))
        for name in ("image_begin", "image_end", "image_sep"):  # image_sep is in the package, but unused
            setattr(self, name, nn.Parameter(torch.zeros(config.hidden)))

    def forward(self, x, rows, columns):
        batch, _, hidden = x.shape
        merge = self.merge
        x = self.before_rms(x).view(batch, rows // merge, merge, columns // merge, merge, hidden)
        x = x.permute(0, 1, 3, 5, 2, 4).reshape(batch, rows // merge, columns // merge, -1)
        x = functional.gelu(functional.linear(x, self.proj_conv.weight.flatten(1), self.proj_conv.bias))
        x = functional.linear(x, self.proj_out.weight.flatten(1), self.proj_out.bias)
        newline = self.image_newline.to(x.dtype).expand(batch, rows // merge, 1, -1)
        x = self.mlp(torch.cat([x, newline], 2).flatten(1, 2))
        begin, end = (edge.to(x.dtype).expand(batch, 1, -1) for edge in (self.image_begin, self.image_end))
        return self.after_rms(torch.cat([begin, x, end], 1))


class VisionTower(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.patch = config.patch
        self.embeddings = VisionEmbeddings(config)
        self.layers = nn.ModuleList(VisionLayer(config) for _ in range(config.vision_layers))
        self.patch_merger = PatchMerger(config)

    def forward(self, pictures):
        x = self.embeddings(pictures)
        for layer in self.layers:
            x = layer(x)
        return self.patch_merger(x, pictures.shape[2] // self.patch, pictures.shape[3] // self.patch)


# ---- text


def rotate(x, cosine, sine):
    half = x.shape[-1] // 2
    return x * cosine + torch.cat([-x[..., half:], x[..., :half]], -1) * sine


class TextAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.key_value_heads = config.heads, config.key_value_heads
        query_size, key_value_size = config.heads * config.head_size, config.key_value_heads * config.head_size
        self.q_proj = nn.Linear(config.hidden, query_size, bias=False)
        self.k_proj = nn.Linear(config.hidden, key_value_size, bias=False)
        self.v_proj = nn.Linear(config.hidden, key_value_size, bias=False)
        self.o_proj = nn.Linear(query_size, config.hidden, bias=False)
        self.query_layernorm = RmsNorm(config.head_size, config.norm_epsilon)
        self.key_layernorm = RmsNorm(config.head_size, config.norm_epsilon)

    def project(self, x, cosine, sine):
        """Query, key and value [batch, heads, tokens, head size]; the norms follow the rotation."""
        batch, tokens, _ = x.shape
        query, key, value = joined_linear(x, self.q_proj, self.k_proj, self.v_proj)
        query = query.view(batch, tokens, self.heads, -1).transpose(1, 2)
        key, value = (part.view(batch, tokens, self.key_value_heads, -1).transpose(1, 2) for part in (key, value))
        return (self.query_layernorm(rotate(query, cosine, sine)), self.key_layernorm(rotate(key, cosine, sine)), value)

    def pointer_scores(self, seeking, seeking_angles, sought, sought_angles):
        """The first head's scores [batch, tokens, places] of `seeking` [batch, tokens, hidden] for `sought`, as
        attention takes them; the angles are (cosine, sine) of each."""
        size = self.query_layernorm.weight.shape[0]
        query = self.query_layernorm(rotate(functional.linear(seeking, self.q_proj.weight[:size]), *seeking_angles))
        key = self.key_layernorm(rotate(functional.linear(sought, self.k_proj.weight[:size]), *sought_angles))
        return query @ key.mT * size ** -0.5

    def attend(self, query, key, value, causal):
        share = self.heads // self.key_value_heads
        if query.shape[2] == 1:  # a decoding step: the heads that share a key act as its queries, nothing is copied
            mixed = functional.scaled_dot_product_attention(query.view(len(query), -1, share, query.shape[3]), key, value)
            return self.o_proj(mixed.reshape(len(query), 1, -1))
        key, value = key.repeat_interleave(share, 1), value.repeat_interleave(share, 1)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))

    def forward(self, x, cosine, sine):
        return self.attend(*self.project(x, cosine, sine), causal=True)


class TextMlp(nn.Module):
    def __init__(self, hidden, feed_forward):
        super().__init__()
        self.gate_proj = nn.Linear(hidden, feed_forward, bias=False)
        self.up_proj = nn.Linear(hidden, feed_forward, bias=False)
        self.down_proj = nn.Linear(feed_forward, hidden, bias=False)

    def forward(self, x):
        gate, up = joined_linear(x, self.gate_proj, self.up_proj)
        return self.down_proj(functional.silu(gate) * up)


class TextLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.input_layernorm = RmsNorm(config.hidden, config.norm_epsilon)
        self.post_attention_layernorm = RmsNorm(config.hidden, config.norm_epsilon)
        self.self_attn = TextAttention(config)
        self.mlp = TextMlp(config.hidden, config.feed_forward)

    def forward(self, x, cosine, sine):
        x = x + self.self_attn(self.input_layernorm(x), cosine, sine)
        return x + self.mlp(self.post_attention_layernorm(x))

    def cached(self, x, cosine, sine, cache, position):
        """The same for the tokens from `position` on; `cache` (keys, values) holds what came before and is extended."""
        query, key, value = self.self_attn.project(self.input_layernorm(x), cosine, sine)
        end = position + x.shape[1]
        for stored, new in zip(cache, (key, value)):
            stored[:, :, position:end] = new
        x = x + self.self_attn.attend(query, cache[0][:, :, :end], cache[1][:, :, :end], causal=position == 0)
        return x + self.mlp(self.post_attention_layernorm(x))


class LanguageModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocabulary, config.hidden)
        self.layers = nn.ModuleList(TextLayer(config) for _ in range(config.layers))
        self.norm = RmsNorm(config.hidden, config.norm_epsilon)


def inverse_frequencies(theta, alpha, head_size):
    """theta stretched by alpha (NTK): base = theta * alpha ** (d / (d - 2)), frequency i = base ** (-2 i / d)."""
    base = theta * alpha ** (head_size / (head_size - 2))
    return (1.0 / base ** (torch.arange(0, head_size, 2, dtype=torch.float64) / head_size)).float()


class HunyuanOcr(nn.Module):
    """Pictures and prompt ids to hidden states; `logits` turns these into scores of the next token."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.vision_tower = VisionTower(config)
        self.language_model = LanguageModel(config)
        self.register_buffer("frequencies", inverse_frequencies(config.rotary_theta, config.rotary_alpha,
                                                                config.head_size), persistent=False)
        self.register_buffer("framing", torch.tensor([config.begin, config.image_start, config.image_end]),
                             persistent=False)

    @staticmethod
    def from_package(package):
        """The model with a package's weights in float32."""
        package = pathlib.Path(package)
        model = HunyuanOcr(Config.load(package))
        tensors = load_file(str(package / "model.safetensors"))
        model.load_state_dict({name.removeprefix(PACKAGE_PREFIX): tensor.float() for name, tensor in tensors.items()})
        return model

    def rotary(self, tokens, rows, columns):
        """Cosine and sine [tokens, head size] of a sequence: begin, image span of rows x (columns + 1), text.

        Axes: position, column, row, picture number; every second section of the doubled frequencies takes the next.
        """
        config, device = self.config, self.frequencies.device
        height, width = rows // config.merge, columns // config.merge + 1
        axes = torch.arange(tokens, device=device, dtype=torch.float32).repeat(4, 1)
        first, last = 3, 3 + height * width  # after the begin token, the image start token and the image's begin vector
        axes[1, first:last] = torch.arange(width, device=device, dtype=torch.float32).repeat(height)
        axes[2, first:last] = torch.arange(height, device=device, dtype=torch.float32).repeat_interleave(width)
        axes[3, first:last] = 0
        angles = axes[:, :, None] * self.frequencies
        angles = torch.cat([angles, angles], -1)
        chunks = angles.split([2 * section for section in config.rotary_sections], -1)
        angles = torch.cat([chunk[index % 4] for index, chunk in enumerate(chunks)], -1)
        return angles.cos(), angles.sin()

    def embed(self, pictures, ids):
        """The input sequence and the place of `ids` [batch, tokens] in it: begin token, image start token, the vision
        tower's vectors (begin, grid with newlines, end), image end token, ids."""
        seen = self.vision_tower(pictures)
        embedding = self.language_model.embed_tokens
        begin, start, end = (part.expand(len(pictures), 1, -1).to(seen.dtype)
                             for part in embedding(self.framing)[:, None, None])
        x = torch.cat([begin, start, seen, end, embedding(ids).to(seen.dtype)], 1)
        return x, 3 + seen.shape[1]

    def forward(self, pictures, ids, feature_layers=()):
        """Hidden states [batch, tokens, hidden] of `ids` (prompt and answer); with `feature_layers`, also these
        layers' outputs for the whole sequence, concatenated, and the position of the first id."""
        rows, columns = (side // self.config.patch for side in pictures.shape[2:])
        x, start = self.embed(pictures, ids)
        cosine, sine = (part.to(x.dtype) for part in self.rotary(x.shape[1], rows, columns))
        features = []
        for index, layer in enumerate(self.language_model.layers):
            x = layer(x, cosine, sine)
            if index in feature_layers:
                features.append(x)
        hidden = self.language_model.norm(x[:, start:])
        return (hidden, torch.cat(features, -1), start) if feature_layers else hidden

    def forward_pointing(self, pictures, ids, count):
        """Hidden states [batch, count, hidden] of the last `count` ids, and for each of two layers (one and two thirds
        up) its first head's scores [batch, count, rows * columns] for the image's cells (merged patches, row by row).
        Training teaches these heads to point at the cell where the next token stands."""
        rows, columns = (side // self.config.patch for side in pictures.shape[2:])
        height, width = rows // self.config.merge, columns // self.config.merge
        x, _ = self.embed(pictures, ids)
        cosine, sine = (part.to(x.dtype) for part in self.rotary(x.shape[1], rows, columns))
        first, last = 3, 3 + height * (width + 1)  # each row ends in a newline vector, which is no cell

        def cells(sequence):  # [..., tokens, size]
            rows = sequence[..., first:last, :].unflatten(-2, (height, width + 1))
            return rows[..., :width, :].flatten(-3, -2)
        start, pointers = x.shape[1] - count, []
        layers = self.language_model.layers
        for index, layer in enumerate(layers):
            if index in (len(layers) // 3, 2 * len(layers) // 3):
                normed = layer.input_layernorm(x)
                pointers.append(layer.self_attn.pointer_scores(
                    normed[:, start:], (cosine[start:], sine[start:]), cells(normed), (cells(cosine), cells(sine))))
            x = layer(x, cosine, sine)
        return self.language_model.norm(x[:, start:]), pointers

    def logits(self, hidden):
        return functional.linear(hidden, self.language_model.embed_tokens.weight.to(hidden.dtype))

    @torch.no_grad()
    def generate(self, pictures, prompt, limit):
        """Greedy answers [batch, tokens] to one prompt (a list of ids, the user token last): up to and with the stop
        token, then padding; at most `limit` tokens."""
        config, batch = self.config, len(pictures)
        rows, columns = (side // config.patch for side in pictures.shape[2:])
        ids = torch.tensor(prompt, device=pictures.device).expand(batch, -1)
        x, start = self.embed(pictures, ids)
        position, total = 0, x.shape[1] + limit
        cosine, sine = (part.to(x.dtype) for part in self.rotary(total, rows, columns))
        shape = (batch, config.key_value_heads, total, config.head_size)
        caches = [(x.new_zeros(shape), x.new_zeros(shape)) for _ in self.language_model.layers]
        done = torch.zeros(batch, dtype=torch.bool, device=x.device)
        answers = []
        for step in range(limit):
            end = position + x.shape[1]
            for layer, cache in zip(self.language_model.layers, caches):
                x = layer.cached(x, cosine[position:end], sine[position:end], cache, position)
            position = end
            chosen = self.logits(self.language_model.norm(x[:, -1])).argmax(-1)
            chosen = torch.where(done, config.padding, chosen)
            answers.append(chosen)
            done |= chosen == config.stop
            if step % 16 == 15 and done.all():
                break
            x = self.language_model.embed_tokens(chosen)[:, None].to(x.dtype)
        return torch.stack(answers, 1)


def initialize(model):
    """Fresh weights for a run without a package."""
    for name, parameter in model.named_parameters():
        if parameter.dim() >= 2:
            deviation = 0.02 if "embed" in name and "patch" not in name else 1 / math.sqrt(parameter[0].numel())
            if name.endswith(("o_proj.weight", "down_proj.weight", "fc2.weight")):
                deviation *= 0.4
            nn.init.normal_(parameter, std=deviation)
        elif name.endswith(".bias"):
            nn.init.zeros_(parameter)
