"""MuJoCo Warp and MJX on the same GPU, if installed: the Mini Cheetah stands on its feet under joint PD."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from footfall_lab.bench.peers import Settled
from nptrace._types import Given, Json

SIZES = (8192, 65536)
# integrator, cone and solver options: the defaults, and the cheapest ones used in training
SETTINGS = {
    "pyramidal, 4 iterations": ("Euler", "pyramidal", {"iterations": 4, "ls_iterations": 8}),
    "elliptic": ("Euler", "elliptic", {}),
    "elliptic, implicitfast": ("implicitfast", "elliptic", {}),
}
_DT = 1e-3  # [s], time step of the robots on the GPU
_STEPS, _ROUNDS = 50, 5
_CONTACTS, _CONSTRAINTS = 8, 48  # capacity per robot


def installed() -> dict[str, bool]:
    """Return the peers that can be imported here."""
    if find_spec("mujoco") is None:
        return {"mujoco_warp": False, "mjx": False}
    return {"mujoco_warp": find_spec("mujoco_warp") is not None, "mjx": find_spec("mujoco.mjx") is not None}


def rows(sizes: tuple[int, ...] = SIZES) -> list[dict[str, Json]]:
    """Return robot-steps per second of every installed peer; one that fails reports why instead."""
    found = []
    for peer, is_here in installed().items():
        run = {"mujoco_warp": _warp, "mjx": _mjx}[peer]
        for name, settings in SETTINGS.items() if is_here else ():
            for n in sizes:
                try:
                    seconds = run(_model(*settings), n)
                    found.append({"peer": peer, "settings": name, "robots": n, "steps_per_second": n / seconds})
                except Exception as error:
                    found.append({"peer": peer, "settings": name, "robots": n, "failed": str(error)[:200]})
    return found


def _model(integrator: str, cone: str, changes: dict[str, Given]) -> Settled:
    settled = Settled.build(integrator, cone)
    settled.stand.model.opt.timestep = _DT
    for key, value in changes.items():
        setattr(settled.stand.model.opt, key, value)
    return settled


def _warp(settled: Settled, n: int) -> float:
    """Return seconds per step of n robots, replayed as one CUDA graph."""
    import mujoco_warp
    import warp

    model = mujoco_warp.put_model(settled.stand.model)
    data = mujoco_warp.put_data(settled.stand.model, settled.rest, nworld=n, nconmax=_CONTACTS, njmax=_CONSTRAINTS)
    mujoco_warp.step(model, data)
    with warp.ScopedCapture() as capture:
        mujoco_warp.step(model, data)

    def go() -> None:
        for _ in range(_STEPS):
            warp.capture_launch(capture.graph)
        warp.synchronize()

    seconds = _least(go)
    height = data.qpos.numpy()[:, 2]
    if not (np.isfinite(height).all() and height.min() > 0.5 * settled.rest.qpos[2]):
        raise RuntimeError("the robots do not stand")
    return seconds


def _mjx(settled: Settled, n: int) -> float:
    """Return seconds per step of n robots, with 50 steps in one compiled scan."""
    import jax
    from mujoco import mjx

    model = mjx.put_model(settled.stand.model)
    one = mjx.put_data(settled.stand.model, settled.rest)
    data = jax.vmap(lambda _: one)(np.arange(n))
    step = jax.vmap(lambda d: mjx.step(model, d))
    many = jax.jit(lambda d: jax.lax.scan(lambda d, _: (step(d), None), d, length=_STEPS)[0])
    seconds = _least(lambda: jax.block_until_ready(many(data)))
    if not np.isfinite(np.asarray(many(data).qpos)).all():
        raise RuntimeError("the states of the robots are not finite")
    return seconds


def _least(go: Callable[[], object]) -> float:
    """Return the least time per step over some rounds; the first one compiles and does not count."""
    go()
    best = np.inf
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        go()
        best = min(best, time.perf_counter() - start)
    return best / _STEPS


def main() -> None:
    import json

    print(json.dumps(rows(), indent=1))


if __name__ == "__main__":
    main()
