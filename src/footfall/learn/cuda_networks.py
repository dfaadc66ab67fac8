"""Actor and critic on a GPU, side by side: products by PyTorch, arrays (number, row), every weight in one vector.

Their hidden layers are of equal size, and the first ones are one product. What the critic alone is told comes first in
a column, and the actor's weights of it are zero and stay so. The gradient is written out, as in ``learn.network``, so
that it goes straight into the vector that Adam reads.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from footfall.errors import InputError
from footfall.learn.network import Weights

if TYPE_CHECKING:
    from torch import Tensor


class Networks:
    """``theta``: first both hidden layers that see observations (with their offsets), then the others.

    ``privileged``: how many of the first numbers of an observation the critic alone is told.
    """

    def __init__(self, torch: ModuleType, actor: Weights, critic: Weights, activation: str, rows: int) -> None:
        if len(actor) < 2:
            raise InputError("a training on a GPU needs at least one hidden layer")
        self.torch, self.activation = torch, activation
        self.hidden, self.privileged = len(actor[0][1]), len(critic[0][0]) - len(actor[0][0])
        first = [np.concatenate([W, b[None]]).T for W, b in (actor[0], critic[0])]
        first[0] = np.concatenate([np.zeros((self.hidden, self.privileged), first[0].dtype), first[0]], axis=1)
        arrays = [np.concatenate(first)]
        owners = [np.concatenate([np.ones_like(first[0]), np.zeros_like(first[1])])]
        for pair in zip(actor[1:], critic[1:]):
            for own, (W, b) in zip((1.0, 0.0), pair):
                arrays += [W.T, b[:, None]]
                owners += [np.full(W.T.shape, own), np.full((len(b), 1), own)]
        self.shapes = [x.shape for x in arrays]
        flat = np.concatenate([np.ravel(x) for x in arrays])
        self.theta = torch.tensor(flat, dtype=torch.float32, device="cuda")
        of_actor = np.concatenate([np.ravel(x) for x in owners])
        self.of_actor = torch.tensor(of_actor, dtype=torch.float32, device="cuda")
        self.parts = self._views(self.theta)
        widths = [2 * len(b) for _, b in actor[:-1]]
        self.given_by = [torch.zeros(width, rows, device="cuda") for width in widths]  # by each hidden layer
        self.given = torch.zeros(len(actor[-1][1]) + 1, rows, device="cuda")  # mean actions, and the value

    def _views(self, flat: Tensor) -> list[Tensor]:
        """The layers within a vector: the first, then (W, b) of actor and critic, layer by layer."""
        out, at = [], 0
        for shape in self.shapes:
            size = math.prod(shape)
            out.append(flat[at : at + size].view(shape))
            at += size
        return out

    def _later(self, parts: list[Tensor]) -> list[list[Tensor]]:
        """(W, b, W, b) of actor and critic for every layer but the first."""
        return [parts[k : k + 4] for k in range(1, len(parts), 4)]

    def _activate(self, x: Tensor) -> Tensor:
        if self.activation == "tanh":
            return x.tanh_()
        return self.torch.nn.functional.elu_(x) if self.activation == "elu" else x.relu_()

    def actions(self, observation: Tensor) -> Tensor:
        """Mean actions, for observations above a row of ones."""
        return self._alone(observation, 0)

    def values(self, observation: Tensor) -> Tensor:
        return self._alone(observation, 1)

    def _alone(self, observation: Tensor, which: int) -> Tensor:
        half, told = slice(which * self.hidden, (which + 1) * self.hidden), 0 if which else self.privileged
        x = self._activate(self.parts[0][half, told:] @ observation[told:])
        layers = self._later(self.parts)
        for k, layer in enumerate(layers):
            x = self.torch.addmm(layer[2 * which + 1], layer[2 * which], x)
            x = x if k == len(layers) - 1 else self._activate(x)
        return x

    def forward(self, observation: Tensor) -> None:
        """Both networks for a minibatch; what they give is in ``given``."""
        torch = self.torch
        torch.mm(self.parts[0], observation, out=self.given_by[0])
        self._activate(self.given_by[0])
        layers = self._later(self.parts)
        for k, (Wa, ba, Wc, bc) in enumerate(layers):
            x, out = self.given_by[k], self.given if k == len(layers) - 1 else self.given_by[k + 1]
            half, middle = len(Wa), len(x) // 2
            torch.addmm(ba, Wa, x[:middle], out=out[:half])
            torch.addmm(bc, Wc, x[middle:], out=out[half:])
            if k < len(layers) - 1:
                self._activate(out)

    def backward(self, observation: Tensor, slope: Tensor, gradient: Tensor) -> None:
        """The gradient of a loss into a vector like ``theta``, from its slope by ``given``."""
        torch, parts = self.torch, self._views(gradient)
        theirs, ours = self._later(parts), self._later(self.parts)
        for k in range(len(ours) - 1, -1, -1):
            x, half = self.given_by[k], len(ours[k][0])
            middle = len(x) // 2
            below = torch.empty_like(x)
            for W, b, own, up, here in (
                (theirs[k][0], theirs[k][1], ours[k][0], slope[:half], slice(0, middle)),
                (theirs[k][2], theirs[k][3], ours[k][2], slope[half:], slice(middle, None)),
            ):
                torch.mm(up, x[here].T, out=W)
                torch.sum(up, 1, keepdim=True, out=b)
                torch.mm(own.T, up, out=below[here])
            slope = self._back(below, x)
        torch.mm(slope, observation.T, out=parts[0])
        if self.privileged:
            parts[0][: self.hidden, : self.privileged] = 0.0

    def _back(self, slope: Tensor, given: Tensor) -> Tensor:
        """A slope before an activation, from that after it and what it gave."""
        aten = self.torch.ops.aten
        if self.activation == "tanh":
            return aten.tanh_backward(slope, given)
        if self.activation == "elu":
            return aten.elu_backward(slope, 1.0, 1.0, 1.0, True, given)
        return aten.threshold_backward(slope, given, 0.0)

    def actor(self) -> Weights:
        """The actor's layers as NumPy arrays."""
        first = self.parts[0][: self.hidden].cpu().numpy()
        layers = [(first[:, self.privileged : -1].T.copy(), first[:, -1].copy())]
        for W, b, _, _ in self._later(self.parts):
            layers.append((W.cpu().numpy().T.copy(), b.cpu().numpy()[:, 0].copy()))
        return layers
