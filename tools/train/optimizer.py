"""Muon for the hidden matrices, AdamW for embeddings, tables, convolutions, norms and biases.

Muon (Keller Jordan, 2024): the momentum of a matrix is brought near to an orthogonal one by five Newton-Schulz steps, so
every direction of the matrix learns at the same pace. Matrices of one shape are treated as one stack.
"""

import math

import torch

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)  # coefficients of the quintic of the Muon paper


def orthogonalize(stack):
    """Five Newton-Schulz steps on matrices [count, rows, columns]; in bfloat16 on a GPU, where that is faster."""
    x = stack.bfloat16() if stack.is_cuda else stack
    transposed = x.shape[1] > x.shape[2]
    if transposed:
        x = x.mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    first, second, third = NEWTON_SCHULZ
    for _ in range(5):
        square = x @ x.mT
        x = first * x + (second * square + third * square @ square) @ x
    return (x.mT if transposed else x).float()


class MuonAdamW:
    """One learning rate for both parts: Muon's updates are scaled to AdamW's usual size."""

    MOMENTUM = 0.95
    MATRIX_DECAY = 0.05
    EMBEDDING_DECAY = 0.01

    def __init__(self, model, fused):
        named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
        groups, rest = {}, []
        for name, parameter in named:
            if parameter.dim() == 2 and "embed" not in name:
                groups.setdefault(tuple(parameter.shape), []).append(parameter)
            else:
                rest.append(parameter)
        self.groups = list(groups.values())
        self.momenta = [torch.zeros(len(group), *group[0].shape, device=group[0].device) for group in self.groups]
        self.adamw = torch.optim.AdamW(
            [{"params": [p for p in rest if p.dim() >= 2], "weight_decay": self.EMBEDDING_DECAY},
             {"params": [p for p in rest if p.dim() < 2], "weight_decay": 0.0}], betas=(0.9, 0.97), fused=fused)

    def state_dict(self):
        return {"adamw": self.adamw.state_dict(), "momenta": self.momenta}

    def load_state_dict(self, state):
        self.adamw.load_state_dict(state["adamw"])
        for momentum, saved in zip(self.momenta, state["momenta"]):
            momentum.copy_(saved)

    @torch.no_grad()
    def step(self, learning_rate):
        for group in self.adamw.param_groups:
            group["lr"] = learning_rate
        self.adamw.step()
        for group, momentum in zip(self.groups, self.momenta):
            gradient = torch.stack([parameter.grad for parameter in group])
            momentum.lerp_(gradient, 1 - self.MOMENTUM)
            update = orthogonalize(gradient.lerp(momentum, self.MOMENTUM))
            torch._foreach_mul_(group, 1 - learning_rate * self.MATRIX_DECAY)
            scale = 0.2 * math.sqrt(max(update.shape[1:]))
            torch._foreach_add_(group, list(update.unbind(0)), alpha=-learning_rate * scale)
