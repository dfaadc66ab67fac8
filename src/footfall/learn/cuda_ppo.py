"""Proximal policy optimisation on a GPU: ``learn.ppo`` with PyTorch's products, rollout and update each one CUDA graph.

Arrays are (number, robot), like those of the physics. Computations on each row of a batch (episodes, derivatives of the
objective) are traced from the same NumPy as on the processor and are one kernel; PyTorch multiplies matrices and draws
random numbers. Equal GPU, seed and software give equal bits.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.control.learned.policy import Policy
from footfall.errors import InputError, MissingExtraError
from footfall.learn.cuda_lanes import CudaLanes
from footfall.learn.ppo import Settings, Weights, divergence, orthogonal, policy_derivatives
from footfall.learn.task import Task
from footfall.learn.training import Training
from footfall.sim.gpu import OPTIONS
from nptrace._types import Given, Json, PyTree, Scalar
from nptrace.codegen import cuda, emit

if TYPE_CHECKING:
    from cupy import ndarray as DeviceArray
    from cupy.cuda import Stream
    from torch import Tensor
    from torch.cuda import CUDAGraph


class Networks:
    """``theta``: first both hidden layers that see observations (with their offsets), then the others.

    ``privileged``: how many of the first numbers of an observation only the critic sees.
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
        self.given_by = [torch.zeros(width, rows, device="cuda") for width in widths]  # outputs of each hidden layer
        self.given = torch.zeros(len(actor[-1][1]) + 1, rows, device="cuda")  # mean actions, and the value

    def _views(self, flat: Tensor) -> list[Tensor]:
        """Return the layers within a vector: the first, then (W, b) of actor and critic, layer by layer."""
        out, at = [], 0
        for shape in self.shapes:
            size = math.prod(shape)
            out.append(flat[at : at + size].view(shape))
            at += size
        return out

    def _later(self, parts: list[Tensor]) -> list[list[Tensor]]:
        """Return (W, b, W, b) of actor and critic for every layer but the first."""
        return [parts[k : k + 4] for k in range(1, len(parts), 4)]

    def _activate(self, x: Tensor) -> Tensor:
        if self.activation == "tanh":
            return x.tanh_()
        return self.torch.nn.functional.elu_(x) if self.activation == "elu" else x.relu_()

    def actions(self, observation: Tensor) -> Tensor:
        """Return mean actions, for observations above a row of ones."""
        return self._alone(observation, 0)

    def values(self, observation: Tensor) -> Tensor:
        return self._alone(observation, 1)

    def _alone(self, observation: Tensor, which: int) -> Tensor:
        half, first = slice(which * self.hidden, (which + 1) * self.hidden), 0 if which else self.privileged
        x = self._activate(self.parts[0][half, first:] @ observation[first:])
        layers = self._later(self.parts)
        for k, layer in enumerate(layers):
            x = self.torch.addmm(layer[2 * which + 1], layer[2 * which], x)
            x = x if k == len(layers) - 1 else self._activate(x)
        return x

    def forward(self, observation: Tensor) -> None:
        """Evaluate both networks for a minibatch; the outputs are in ``given``."""
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
        """Write the gradient of a loss into a vector like ``theta``, from its derivative with respect to ``given``."""
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
        """Return the derivative before an activation, from that after it and its output."""
        aten = self.torch.ops.aten
        if self.activation == "tanh":
            return aten.tanh_backward(slope, given)
        if self.activation == "elu":
            return aten.elu_backward(slope, 1.0, 1.0, 1.0, True, given)
        return aten.threshold_backward(slope, given, 0.0)

    def actor(self) -> Weights:
        """Return the actor's layers as NumPy arrays."""
        first = self.parts[0][: self.hidden].cpu().numpy()
        layers = [(first[:, self.privileged : -1].T.copy(), first[:, -1].copy())]
        for W, b, _, _ in self._later(self.parts):
            layers.append((W.cpu().numpy().T.copy(), b.cpu().numpy()[:, 0].copy()))
        return layers


BLOCK = 128  # threads per block of the kernel of derivatives
FORGET = 50.0  # rollouts over which the running means of observations extend


def pytorch() -> ModuleType:
    """Return PyTorch; raise with what to install if it is missing."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # otherwise products may be summed in a different order
    try:
        import torch
    except ImportError:
        raise MissingExtraError("training on a GPU", "train", "torch") from None
    return torch


def row_derivatives(clip: float, given: PyTree, row: PyTree, noise: PyTree) -> tuple[Scalar, ...]:
    """Return the derivatives of both losses with respect to one row of the networks' outputs, and the divergence.

    given: (mean action, value). row: (action, its log-likelihood, its mean, advantage, return). noise: logarithm of the
    noise now, and when the row was made.
    """
    center, value = given
    action, likelihood, was, merit, target = row
    _, by_center, by_noise = policy_derivatives(clip, center, action, likelihood, merit, noise[0])
    return by_center, value - target, by_noise, divergence(was, noise[1], center, noise[0])


def derivatives_source(clip: float, acts: int) -> str:
    """Return the CUDA source of ``row_derivatives``: the noise is the same for all rows."""
    a = np.zeros(acts)
    examples = ((a, 0.0), (a, 0.0, a, 0.0, 0.0), (a, a))
    program = compiling.program(partial(row_derivatives, clip), None, *examples)
    layout = emit.first_is_state([acts + 1, 2 * acts + 3, 2 * acts], shared=(2,))
    return cuda.source(program, layout, "slopes", np.float32, BLOCK)


class CudaPPO:
    """A training on a GPU: call ``iterate`` as often as needed."""

    def __init__(self, lanes: CudaLanes, settings: Settings | None = None, seed: int = 0) -> None:
        self.torch = torch = pytorch()
        torch.backends.cuda.matmul.allow_tf32 = True
        self.lanes, self.settings, self.seed = lanes, settings or Settings(), seed
        robot, s = lanes.task.robot, self.settings
        seen, acts, rng = len(lanes.task.bounds), robot.nj, np.random.default_rng(seed)
        self.acts, self.privileged = acts, lanes.task.privileged_count
        actor = orthogonal((seen, *s.hidden, acts), rng, 0.01)
        critic = orthogonal((self.privileged + seen, *s.hidden, 1), rng, 1.0)
        count = max(1, round(s.steps * lanes.n / s.rows))
        self.batches, self.batch = count, s.steps * lanes.n // count
        self.networks = Networks(torch, actor, critic, s.activation, self.batch)
        module = lanes.cupy.RawModule(code=derivatives_source(s.clip, acts), options=OPTIONS, backend="nvrtc")
        self._slopes = module.get_function("slopes_evaluate")
        self._make_buffers(self.privileged + seen, acts)
        self.graphs: tuple[CUDAGraph, CUDAGraph] | None = None
        self.random = torch.Generator("cuda").manual_seed(seed)  # trainings side by side do not collide
        self._begin()
        self.iteration = 0

    def _make_buffers(self, seen: int, acts: int) -> None:
        torch, s, n = self.torch, self.settings, self.lanes.n

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, device="cuda")

        T, places = s.steps, self.lanes.source.places
        self.columns = torch.from_dlpack(self.lanes.columns)
        # the critic's inputs precede what the actor sees
        self.seen = self.columns[places["privileged"].start : places["seen"].stop]
        self.final_rows = self.columns[places["final_privileged"].start : places["final"].stop]
        self.action_rows = self.columns[places["action"]]
        self.outcome_rows = self.columns[places["reward"].start : places["score"].stop]
        # for every tick of every robot: observation and a 1, action, its likelihood, its mean, advantage, return
        self.sizes = [seen + 1, acts, 1, acts, 1, 1]
        self.rows = zeros(sum(self.sizes), T, n)
        self.rows[seen] = 1.0
        self.shuffled = zeros(self.batches, sum(self.sizes), self.batch)
        self.last, self.final = zeros(seen + 1, n), zeros(seen + 1, T, n)
        self.last[seen], self.final[seen] = 1.0, 1.0
        self.noise, self.outcome = zeros(T, acts, n), zeros(T, len(self.outcome_rows), n)
        self.chance = zeros(T, self.lanes.source.draws, n)
        self._chances = [self._cupy(self.chance[t]) for t in range(T)]
        self.mean, self.variance, self.inverse, self.count = zeros(seen, 1), zeros(seen, 1), zeros(seen, 1), zeros(1)
        self.log_noise = torch.full((2, acts), float(np.log(s.noise)), device="cuda")  # now, and in the rollout
        self.slopes = zeros(2 * acts + 2, self.batch)
        given, noise, slopes = self._cupy(self.networks.given), self._cupy(self.log_noise), self._cupy(self.slopes)
        rest = [self._cupy(part[self.sizes[0] :]) for part in self.shuffled]
        self._slope_arrays = [(given, part, noise, slopes) for part in rest]
        size = len(self.networks.theta) + acts
        self.gradient, self.moment, self.square, self.steps = zeros(size), zeros(size), zeros(size), zeros(1)
        self.rate = torch.full((1,), s.first_rate, device="cuda")
        self.apart, self.summary = zeros(1), zeros(6)
        own = torch.cat([self.networks.of_actor, torch.ones(acts, device="cuda")])
        self.share = torch.stack([own, 1.0 - own])  # which network each number belongs to: the actor or the critic

    # -- rollout -----------------------------------------------------------------------------------------------------
    def _begin(self) -> None:
        """Start episodes at any age: episodes that all started together would end together."""
        source, torch, n = self.lanes.source, self.torch, self.lanes.n
        with self._stream():
            self.lanes.begin(self._cupy(self._uniform(source.draws, n)))
        passed = torch.floor(self._uniform(n) * source.episodes.limit)
        for key in ("age", "next_push"):
            self.columns[source.places[key]] += passed
        self._count_observations(self.seen)

    def _uniform(self, *shape: int) -> Tensor:
        return self.torch.rand(shape, generator=self.random, device="cuda")

    def _stream(self) -> Stream:
        return self.lanes.cupy.cuda.Stream.from_external(self.torch.cuda.current_stream())

    def _cupy(self, tensor: Tensor) -> DeviceArray:
        return self.lanes.cupy.from_dlpack(tensor.detach())

    def _rollout(self) -> None:
        """Act for some ticks; then compute advantages and returns in ``rows``, and shuffle them."""
        torch, seen = self.torch, len(self.mean)
        self.noise.normal_(generator=self.random)
        self.chance.uniform_(generator=self.random)
        deviation = self.log_noise[0].exp()[:, None]
        observation, action, likelihood, center, _, _ = self.rows.split(self.sizes)
        for t in range(self.settings.steps):
            self._normalised(self.seen, observation[:seen, t])
            center[:, t] = self.networks.actions(observation[:, t])
            torch.addcmul(center[:, t], deviation, self.noise[t], out=action[:, t])
            torch.clamp(action[:, t], -1.0, 1.0, out=self.action_rows)
            with self._stream():
                self.lanes.tick(self._chances[t])
            self.outcome[t].copy_(self.outcome_rows)
            self.final[:seen, t].copy_(self.final_rows)
        constant = self.log_noise[0].sum() + 0.5 * self.acts * float(np.log(2.0 * np.pi))
        likelihood[0] = -0.5 * (self.noise * self.noise).sum(1) - constant
        self._normalised(self.seen, self.last[:seen])
        self._summarise()
        self._advantages()
        self._count_observations(observation[:seen].reshape(seen, -1) / self.inverse + self.mean)
        self._shuffle()

    def _normalised(self, rows: Tensor, out: Tensor) -> None:
        self.torch.sub(rows, self.mean, out=out)
        out.mul_(self.inverse)

    def _advantages(self) -> None:
        """Compute generalised advantage estimates (Schulman et al. 2016)."""
        torch, s, T, n = self.torch, self.settings, self.settings.steps, self.lanes.n
        observation, _, _, _, merit, target = self.rows.split(self.sizes)
        value = self.networks.values(observation.reshape(len(observation), -1)).reshape(T, n)
        last = self.networks.values(self.last).reshape(1, n)
        final = self.final.reshape(len(self.final), T * n)
        self._normalised(final[:-1], final[:-1])
        end = self.networks.values(final).reshape(T, n)
        reward, fallen, late = self.outcome[:, 0].nan_to_num(0.0, 0.0, 0.0), self.outcome[:, 1], self.outcome[:, 2]
        # the world continues after a time limit: the remaining return is estimated
        reward = reward + s.discount * torch.where(late > 0.5, end, torch.zeros_like(end))
        goes_on = 1.0 - torch.maximum(fallen, late)
        surprise = reward + s.discount * goes_on * torch.cat([value[1:], last]) - value
        advantage, ahead = torch.empty_like(surprise), torch.zeros_like(surprise[0])
        for t in range(T - 1, -1, -1):
            ahead = torch.addcmul(surprise[t], goes_on[t], ahead, value=s.discount * s.trace)
            advantage[t] = ahead
        merit[0] = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        target[0] = advantage + value

    def _summarise(self) -> None:
        """Average over the rollout: reward, errors of forward speed and turn, falls per tick, score."""
        at = self.lanes.task.place("command")
        at = slice(self.privileged + at.start, self.privileged + at.stop)
        command, outcome = self.final[at].transpose(0, 1), self.outcome.nan_to_num(0.0, 0.0, 0.0)
        off = (outcome[:, 3:6] - command).nan_to_num(0.0).abs().mean((0, 2))
        means = outcome.mean((0, 2))
        stacked = [means[0], off[0], off[2], means[1], means[6], self.log_noise[0].exp().mean()]
        self.summary.copy_(self.torch.stack(stacked))

    def _count_observations(self, rows: Tensor) -> None:
        """Update the running mean and variance (Chan, Golub & LeVeque 1983) over the last rollouts."""
        new, mean, variance = float(rows.shape[1]), rows.mean(1, True), rows.var(1, unbiased=False, keepdim=True)
        total, away = self.count + new, mean - self.mean
        self.variance.copy_(
            (self.variance * self.count + variance * new + away * away * self.count * new / total) / total
        )
        self.mean.add_(away * new / total)
        self.inverse.copy_(self.variance.clamp(min=1e-4).rsqrt())
        self.count.copy_(total.clamp(max=FORGET * new))

    def _shuffle(self) -> None:
        """Put rows in random order, one minibatch after the other."""
        rows = self.rows.reshape(len(self.rows), -1)
        order = self._uniform(rows.shape[1]).argsort()
        for k in range(self.batches):
            self.torch.index_select(rows, 1, order[k * self.batch : (k + 1) * self.batch], out=self.shuffled[k])
        self.log_noise[1].copy_(self.log_noise[0])

    # -- update ------------------------------------------------------------------------------------------------------
    def _epoch(self) -> None:
        """Take one step of Adam for every minibatch."""
        s, nets, acts = self.settings, self.networks, self.acts
        grid = (-(-self.batch // BLOCK),)
        for k in range(self.batches):
            observation = self.shuffled[k, : self.sizes[0]]
            nets.forward(observation)
            with self._stream():
                self._slopes(grid, (BLOCK,), (*self._slope_arrays[k], np.int32(self.batch)))
            self.slopes[: acts + 1] /= self.batch
            size = len(nets.theta)
            nets.backward(observation, self.slopes[: acts + 1], self.gradient[:size])
            means = self.slopes[acts + 1 :].mean(1)
            self.gradient[size:] = means[:acts] - s.entropy
            self.apart.copy_(means[acts:])
            self._follow_divergence()
            self._adam()

    def _follow_divergence(self) -> None:
        """Adapt the step size of the actor to how far an update went (Rudin et al. 2022)."""
        torch, aim = self.torch, self.settings.divergence
        slower, faster = (self.rate / 1.5).clamp(min=1e-5), (self.rate * 1.5).clamp(max=1e-2)
        short = torch.where(self.apart < 0.5 * aim, faster, self.rate)
        self.rate.copy_(torch.where(self.apart > 2.0 * aim, slower, short))

    def _adam(self) -> None:
        """Take a step of Adam (Kingma & Ba 2015); the actor's and the critic's gradients are clipped to a length of
        1.
        """
        torch, gradient, size = self.torch, self.gradient, len(self.networks.theta)
        length = torch.sqrt(self.share @ (gradient * gradient))
        gradient = gradient * ((1.0 / (length + 1e-8)).clamp(max=1.0) @ self.share)
        self.steps += 1.0
        self.moment.lerp_(gradient, 0.1)
        self.square.lerp_(gradient * gradient, 0.001)
        scale = torch.sqrt(1.0 - 0.999**self.steps) / (1.0 - 0.9**self.steps)
        rate = scale * torch.cat([self.rate, torch.full_like(self.rate, self.settings.critic_rate)]) @ self.share
        change = rate * self.moment / (self.square.sqrt() + 1e-8)
        self.networks.theta.sub_(change[:size])
        self.log_noise[0].sub_(change[size:])

    # -- graphs ------------------------------------------------------------------------------------------------------
    def prepare(self) -> None:
        """Record rollout and update as CUDA graphs; this learns nothing, and all numbers are restored."""
        torch = self.torch
        kept, random = {k: v.clone() for k, v in self.numbers().items()}, self.random.get_state()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                self._rollout()
                self._epoch()
        torch.cuda.synchronize()
        self.graphs = self._captured(self._rollout, stream), self._captured(self._epoch, stream)
        for key, value in self.numbers().items():
            value.copy_(kept[key])
        self.random.set_state(random)
        torch.cuda.synchronize()

    def _captured(self, work: Callable[[], None], stream: Stream) -> CUDAGraph:
        graph = self.torch.cuda.CUDAGraph()
        graph.register_generator_state(self.random)
        with self.torch.cuda.graph(graph, stream=stream):
            work()
        return graph

    def iterate(self) -> None:
        """Act, then learn from the experience. Nothing waits for the GPU; ``curve_row`` does."""
        if self.graphs is None:
            self.prepare()
        assert self.graphs is not None
        self.graphs[0].replay()
        for _ in range(self.settings.epochs):
            self.graphs[1].replay()
        self.iteration += 1

    def curve_row(self) -> dict[str, float]:
        """Return statistics of the last rollout; waits until the GPU has finished."""
        reward, forward, turn, falls, score, noise = self.summary.tolist()
        rate = self.lanes.task.drive.rate
        return {
            "iteration": self.iteration,
            "samples": self.iteration * self.settings.steps * self.lanes.n,
            "reward": reward,
            "forward_error": forward,
            "turn_error": turn,
            "falls": rate * falls,
            "score": score,
            "noise": noise,
        }

    def numbers(self) -> dict[str, Tensor]:
        """Return the state of a training except its random numbers, for checkpoints."""
        return {
            "columns": self.columns,
            "theta": self.networks.theta,
            "log_noise": self.log_noise,
            "moment": self.moment,
            "square": self.square,
            "steps": self.steps,
            "rate": self.rate,
            "mean": self.mean,
            "variance": self.variance,
            "inverse": self.inverse,
            "count": self.count,
        }


class CudaTraining(Training):
    """A training on the GPU; the processor reads six numbers now and then."""

    device = "cuda"
    default_settings = Settings(rows=24576, noise=0.3)  # four minibatches of 4096 robots

    def __init__(
        self,
        task: Task,
        robots: int = 4096,
        seed: int = 0,
        settings: Settings | None = None,
        command: Mapping[str, Given] | None = None,
        randomise: Given = True,
        seconds: float | None = None,
    ) -> None:
        super().__init__(task, robots, seed, settings, randomise)
        self.torch = pytorch()
        ranges, limit = {**task.command_ranges, **(command or {})}, task.seconds if seconds is None else seconds
        lanes = CudaLanes(task, robots, command=ranges, randomise=randomise, seconds=limit)
        self.ppo = CudaPPO(lanes, self.settings, self.seed)
        self.ppo.prepare()

    @property
    def iteration(self) -> int:
        return self.ppo.iteration

    def iterate(self, count: int = 1) -> dict[str, float]:
        began = time.perf_counter()
        for _ in range(count):
            self.ppo.iterate()
        row = self.ppo.curve_row()  # waits for the GPU
        self.seconds += time.perf_counter() - began
        return self._add_row({**row, "seconds": self.seconds})

    def policy(self) -> Policy:
        ppo, task = self.ppo, self.task
        weights = tuple((W.astype(float), b.astype(float)) for W, b in ppo.networks.actor())
        mean, inverse = (x.cpu().numpy()[ppo.privileged :, 0].astype(float) for x in (ppo.mean, ppo.inverse))
        name, activation = task.robot.name, self.settings.activation
        return Policy(
            robot=name,
            drive=task.drive,
            mean=mean,
            spread=1.0 / inverse,
            weights=weights,
            activation=activation,
            joints=task.robot.joint_names,
        )

    # -- checkpoints -------------------------------------------------------------------------------------------------
    def _numbers(self) -> dict[str, ndarray]:
        arrays = {key: value.cpu().numpy() for key, value in self.ppo.numbers().items()}
        return {**arrays, "random": self.ppo.random.get_state().numpy()}

    def _words(self) -> dict[str, Json]:
        return {"iteration": self.ppo.iteration}

    def _restore(self, numbers: dict[str, ndarray], words: dict[str, Json]) -> None:
        for key, tensor in self.ppo.numbers().items():
            tensor.copy_(self.torch.from_numpy(np.array(numbers[key])))
        self.ppo.random.set_state(self.torch.from_numpy(np.array(numbers["random"])))
        self.ppo.iteration = int(words["iteration"])
