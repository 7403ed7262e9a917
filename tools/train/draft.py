"""The DFlash draft in training form: a block-diffusion draft that fills a block of masks from the target's features.

Names equal those of a package's dflash/model.safetensors. One call serves many blocks of one sequence at once: each sees
the context before its anchor and itself, nothing else.
"""

import json
import pathlib

import torch
import torch.nn.functional as functional
from safetensors.torch import load_file
from torch import nn

from model import RmsNorm, TextMlp, inverse_frequencies, rotate


class DraftConfig:
    """The numbers of dflash/config.json."""

    def __init__(self, folder):
        config = json.loads((pathlib.Path(folder) / "config.json").read_text())
        self.block = config["block_size"]
        self.hidden, self.feed_forward = config["hidden_size"], config["intermediate_size"]
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.key_value_heads, self.head_size = config["num_key_value_heads"], config["head_dim"]
        self.norm_epsilon, self.rotary_theta = config["rms_norm_eps"], config["rope_theta"]
        self.mask = config["dflash_config"]["mask_token_id"]
        self.target_layers = tuple(config["dflash_config"]["target_layer_ids"])


class DraftAttention(nn.Module):
    """Queries from the block; keys and values from context features and the block. The norms precede the rotation."""

    def __init__(self, config):
        super().__init__()
        self.heads, self.key_value_heads = config.heads, config.key_value_heads
        query_size, key_value_size = config.heads * config.head_size, config.key_value_heads * config.head_size
        self.q_proj = nn.Linear(config.hidden, query_size, bias=False)
        self.k_proj = nn.Linear(config.hidden, key_value_size, bias=False)
        self.v_proj = nn.Linear(config.hidden, key_value_size, bias=False)
        self.o_proj = nn.Linear(query_size, config.hidden, bias=False)
        self.q_norm = RmsNorm(config.head_size, config.norm_epsilon)
        self.k_norm = RmsNorm(config.head_size, config.norm_epsilon)

    def forward(self, context, x, context_angles, block_angles, mask):
        batch, tokens, _ = x.shape
        everything = torch.cat([context, x], 1)
        query = self.q_norm(self.q_proj(x).view(batch, tokens, self.heads, -1)).transpose(1, 2)
        key = self.k_proj(everything).view(batch, everything.shape[1], self.key_value_heads, -1)
        value = self.v_proj(everything).view(batch, everything.shape[1], self.key_value_heads, -1).transpose(1, 2)
        key = self.k_norm(key).transpose(1, 2)
        length = context.shape[1]
        query = rotate(query, *block_angles)
        key = torch.cat([rotate(key[:, :, :length], *context_angles), rotate(key[:, :, length:], *block_angles)], 2)
        share = self.heads // self.key_value_heads
        key, value = key.repeat_interleave(share, 1), value.repeat_interleave(share, 1)
        mixed = functional.scaled_dot_product_attention(query, key.to(query.dtype), value.to(query.dtype),
                                                        attn_mask=mask)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class DraftLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.input_layernorm = RmsNorm(config.hidden, config.norm_epsilon)
        self.post_attention_layernorm = RmsNorm(config.hidden, config.norm_epsilon)
        self.self_attn = DraftAttention(config)
        self.mlp = TextMlp(config.hidden, config.feed_forward)

    def forward(self, context, x, context_angles, block_angles, mask):
        x = x + self.self_attn(context, self.input_layernorm(x), context_angles, block_angles, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class Draft(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.fc = nn.Linear(len(config.target_layers) * config.hidden, config.hidden, bias=False)
        self.hidden_norm = RmsNorm(config.hidden, config.norm_epsilon)
        self.layers = nn.ModuleList(DraftLayer(config) for _ in range(config.layers))
        self.norm = RmsNorm(config.hidden, config.norm_epsilon)
        self.register_buffer("frequencies", inverse_frequencies(config.rotary_theta, 1.0, config.head_size),
                             persistent=False)

    @staticmethod
    def from_package(folder):
        draft = Draft(DraftConfig(folder))
        tensors = load_file(str(pathlib.Path(folder) / "model.safetensors"))
        draft.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
        return draft

    @torch.no_grad()
    def begin_from(self, target):
        """Takes the weights of the target's last layers, whose shapes are the same, and an averaging `fc`."""
        layers = target.language_model.layers[-len(self.layers):]
        for own, other in zip(self.layers, layers):
            state = other.state_dict()
            for old, new in (("query_layernorm", "q_norm"), ("key_layernorm", "k_norm")):
                state[f"self_attn.{new}.weight"] = state.pop(f"self_attn.{old}.weight")
            own.load_state_dict(state)
        self.norm.load_state_dict(target.language_model.norm.state_dict())
        count = len(self.config.target_layers)
        self.fc.weight.copy_(torch.eye(self.config.hidden, device=self.fc.weight.device).repeat(1, count) / count)

    def angles(self, positions, like):
        """Cosine and sine [batch, 1, tokens, head size] of positions [batch, tokens]."""
        angles = positions[..., None].float() * self.frequencies
        angles = torch.cat([angles, angles], -1)[:, None]
        return angles.cos().to(like.dtype), angles.sin().to(like.dtype)

    def forward(self, features, blocks, anchors):
        """Hidden states [batch, blocks, block size, hidden].

        features: the target's [batch, tokens, layers * hidden]; blocks: embeddings [batch, blocks, block size, hidden]
        of the known token and the masks; anchors [batch, blocks]: the known token's position in the sequence. A block
        sees the features of the positions before its anchor.
        """
        batch, count, size, hidden = blocks.shape
        context = self.hidden_norm(self.fc(features))
        length, device = context.shape[1], context.device
        positions = (anchors[:, :, None] + torch.arange(size, device=device)).flatten(1)
        owner = torch.arange(count, device=device).repeat_interleave(size)
        sees_context = torch.arange(length, device=device) < anchors.repeat_interleave(size, 1)[:, :, None]
        sees_block = (owner[:, None] == owner[None]).expand(batch, -1, -1)
        mask = torch.cat([sees_context, sees_block], 2)[:, None]
        context_angles = self.angles(torch.arange(length, device=device)[None], context)
        block_angles = self.angles(positions, context)
        x = blocks.flatten(1, 2)
        for layer in self.layers:
            x = layer(context, x, context_angles, block_angles, mask)
        return self.norm(x).view(batch, count, size, hidden)
