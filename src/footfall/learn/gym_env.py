"""``footfall/Walk-v0``: a quadruped follows a velocity that changes from episode to episode. Gymnasium environments.

    import gymnasium, footfall.learn
    env = gymnasium.make("footfall/Walk-v0")
    many = gymnasium.make_vec("footfall/Walk-v0", num_envs=2048)

Observation (``control.learned.policy.Drive.terms``): angular velocity, direction of gravity, command, joints from
standing, their rates, last action, clock. Action: joint offsets around standing in [-1, 1], held by PD for a tick of 20
ms. An episode ends with a fall (terminated) or at its time limit (truncated). ``info`` has every term of the reward,
whose sum is the reward, as ``reward_NAME``, and the velocity; the ``info`` of a reset has the draws of the episode. For
a task with privileged observations for a critic (``Task.privileged``), the infos of a vector have them as
``privileged`` and ``final_privileged``.
"""

from __future__ import annotations

import inspect
import time
import webbrowser
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.contact.ground import Plane
from footfall.draw.video import Film
from footfall.errors import InputError, MissingExtraError, unknown
from footfall.hints import takes
from footfall.learn.custom import customised
from footfall.learn.lanes import WalkLanes
from footfall.learn.task import Task, TickResult
from footfall.learn.walk import WalkTask
from footfall.loading import load
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from nptrace._types import Given, PyTree

MODES = ("rgb_array", "human")
_KEPT = 200  # past rows from which the path in a picture is drawn


def checked_mode(mode: Given, modes: tuple[str, ...] = MODES) -> str | None:
    """Return a valid Gymnasium render mode, or None."""
    if mode is not None and mode not in modes:
        raise unknown("render_mode", mode, modes)
    return mode


class Pictures:
    """Pictures of one robot as arrays (height, width, 3) of bytes; ``add`` its states, ``forget`` at a new episode."""

    def __init__(self, robot: Robot, period: float, width: int = 480, height: int = 320) -> None:
        self.robot, self.period, self.size = robot, period, (width, height)
        self.rows: list[tuple[float | ndarray, ...]] = []
        self.film: Film | None = None

    def forget(self) -> None:
        self.rows = []

    def add(self, age: float, q: ndarray, v: ndarray, force: ndarray) -> None:
        row: tuple[float | ndarray, ...] = (age * self.period, *(np.array(x, float) for x in (q, v, force)))
        self.rows = [*self.rows[-_KEPT:], row]

    def picture(self) -> ndarray:
        times, q, v, force = (np.array(column) for column in zip(*self.rows))
        meta = {"ground_form": Plane().to_json()}
        rec = Recording(self.robot, {"time": times, "q": q, "v": v, "force": force}, [], meta)
        if self.film is None:
            self.film = Film(rec, *self.size)
        self.film.show(rec)
        return np.asarray(self.film.picture(float(times[-1])), np.uint8)[..., :3].copy()


class Page:
    """A web page that shows one robot live, no faster than real time; its address is printed."""

    def __init__(self, robot: Robot, period: float, browse: bool = True) -> None:
        from footfall.view.server import Server
        from footfall.view.stage import Stage, draw_ground, light

        self.period, self.next = period, 0.0
        self.server = Server()
        scene = self.server.viser.scene
        light(scene)
        draw_ground(scene, Plane())
        self.stage = Stage(scene, robot)
        opened = browse and webbrowser.open(self.server.address)
        print(self.server.address if opened else f"open {self.server.address} in a browser", flush=True)

    def forget(self) -> None:
        self.stage.forget()

    def add(self, age: float, q: ndarray, v: ndarray, force: ndarray) -> None:
        wait = self.next - time.monotonic()
        if 0.0 < wait <= self.period:
            time.sleep(wait)
        self.next = time.monotonic() + self.period
        self.stage.show(np.array(q, float), np.array(force, float))

    def close(self) -> None:
        self.server.stop()


try:
    import gymnasium
    from gymnasium.utils import seeding
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise MissingExtraError("a learning environment", "learn", "gymnasium") from None

RATE = 50


def _lanes(robot: Robot | str, task: Task | None, n: int, options: dict[str, Given]) -> WalkLanes:
    if int(n) != n or n < 1:
        raise InputError(f"a vector environment needs at least one robot, got num_envs = {n}")
    if task is None and not isinstance(robot, str | Robot):
        raise InputError(f"robot must be a name, a model file or a Robot, got {type(robot).__name__}")
    if task is None:
        task = WalkTask.of(load(robot) if isinstance(robot, str) else robot, weights=options.pop("weights", {}))
    elif options.pop("weights", None):
        raise InputError("pass the weights to the task")
    task = customised(task, options)
    known = [name for name in inspect.signature(WalkLanes.__init__).parameters if name not in ("self", "task", "n")]
    for name in options:
        if name == "num_envs":
            raise InputError("WalkEnv has one robot: use WalkVectorEnv(num_envs=...) for several")
        if name not in known:
            raise unknown("option of an environment", name, known, "it has")
    return WalkLanes(task, int(n), **options)


def _spaces(task: Task) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """Return the spaces (of observations, of actions)."""
    most = task.bounds.astype(np.float32)
    one = np.ones(task.robot.nj, np.float32)
    return gymnasium.spaces.Box(-most, most, dtype=np.float32), gymnasium.spaces.Box(-one, one, dtype=np.float32)


def _info(result: TickResult) -> dict[str, ndarray]:
    """Return the info of a tick, with a lane axis."""
    terms = {f"reward_{key}": value for key, value in result.terms.items()}
    return {**terms, "velocity": result.velocity, "contact": result.contact, "score": result.score}


class WalkEnv(gymnasium.Env):
    """A Gymnasium environment of one robot: a batch of one.

    robot: a library robot's name or a Robot. task: gains, weights, steps (``WalkTask``). Options: command, randomise,
    seconds, dtype, threads (``WalkLanes``), weights of the reward; and user-defined parts: ground, rewards,
    observations, command as a function (``CustomTask``).
    """

    metadata = {"render_modes": list(MODES), "render_fps": RATE}  # noqa: RUF012

    def __init__(
        self,
        robot: Robot | str = "mini_cheetah",
        task: Task | None = None,
        render_mode: Given = None,
        **options: Any,
    ) -> None:
        self.render_mode = checked_mode(render_mode)
        self.lanes = _lanes(robot, task, 1, {"threads": 1, **options})
        self.observation_space, self.action_space = _spaces(self.lanes.task)
        self._shown: Pictures | Page | None = None

    def __repr__(self) -> str:
        seen, acts = self.observation_space.shape, self.action_space.shape
        return f"WalkEnv('{self.lanes.task.robot.name}': observations {seen}, actions {acts}, {RATE} Hz)"

    @takes({})
    def reset(
        self, *, seed: int | None = None, options: dict[str, Given] | None = None
    ) -> tuple[ndarray, dict[str, PyTree]]:
        """Begin an episode and return (observation, randomized parameters)."""
        super().reset(seed=seed)
        self.lanes.generators = [self.np_random]
        self.lanes.begin([0])
        drawn = {key: _only(value) for key, value in self.lanes.episode(slice(None)).items()}
        if self.render_mode is not None:
            self._show(fresh=True)
        return _only(self.lanes.observe(self.lanes.look(slice(None)).observation)), drawn

    def step(self, action: ndarray) -> tuple[ndarray, float, bool, bool, dict[str, PyTree]]:
        """Apply an action for a tick and return (observation, reward, terminated, truncated, info)."""
        done = self.lanes.tick(np.asarray(action)[None])
        info = {key: _only(value) for key, value in _info(done.result).items()}
        observation = _only(self.lanes.observe(done.result.observation))
        late = bool(done.late[0] and not done.fallen[0])
        if self.render_mode is not None:
            self._show()
        return observation, float(done.result.reward[0]), bool(done.fallen[0]), late, info

    def _show(self, fresh: bool = False) -> None:
        """Show the robot as it is now, in a picture or on the page."""
        robot, period = self.lanes.robot, 1.0 / self.lanes.task.drive.rate
        if self._shown is None:
            self._shown = Page(robot, period) if self.render_mode == "human" else Pictures(robot, period)
        if fresh:
            self._shown.forget()
        state = self.lanes.batch.state
        self._shown.add(float(self.lanes.age[0]), state.q[0], state.v[0], state.forces[0, : robot.nf])

    def render(self) -> ndarray | None:
        """Return a picture of the robot (height, width, 3), or None where a page shows it."""
        if self.render_mode is None:
            raise InputError('there is nothing to render: make the environment with render_mode="rgb_array"')
        if not isinstance(self._shown, Pictures):
            return None
        return self._shown.picture()

    def close(self) -> None:
        """Close the page, if there is one."""
        if isinstance(self._shown, Page):
            self._shown.close()
        self._shown = None


def _only(array: ndarray) -> ndarray:
    """Return the only lane's value as a copy."""
    return array[0].copy() if array.ndim > 1 else array[0]


class WalkVectorEnv(gymnasium.vector.VectorEnv):
    """A Gymnasium vector environment of many robots on SIMD lanes and threads, reset in the step in which they end.

    Lane k is seeded with seed + k and equals a ``WalkEnv`` with that seed bit for bit. Options as for ``WalkEnv``.
    """

    metadata = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": RATE,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        robot: Robot | str = "mini_cheetah",
        task: Task | None = None,
        render_mode: Given = None,
        **options: Any,
    ) -> None:
        self.render_mode = checked_mode(render_mode, ("rgb_array",))
        self._pictures: list[Pictures] = []
        self.lanes = _lanes(robot, task, num_envs, options)
        self.num_envs = self.lanes.n
        self.single_observation_space, self.single_action_space = _spaces(self.lanes.task)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    @takes({})
    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Given] | None = None
    ) -> tuple[ndarray, dict[str, PyTree]]:
        """Reset with seeds seed, seed + 1, ... or one each; ``options["reset_mask"]`` chooses environments."""
        which = _mask((options or {}).get("reset_mask"), self.num_envs)
        self._seed(seed, which)
        self.lanes.begin(which)
        infos: dict[str, PyTree] = {}
        mask = np.isin(np.arange(self.num_envs), which)
        _add(infos, self.lanes.episode(which), mask)
        self.lanes.observe(self.lanes.look(which).observation, which)
        if self.lanes.task.privileged_count:
            infos["privileged"] = self.lanes.privileged(slice(None))
        return self.lanes.observation.copy(), infos

    def _seed(self, seed: int | Sequence[int | None] | None, which: ndarray) -> None:
        if seed is None or isinstance(seed, (int, np.integer)):
            seeds: Sequence[int | None] = [None if seed is None else int(seed) + k for k in range(self.num_envs)]
        else:
            seeds = seed
        if len(seeds) != self.num_envs:
            raise InputError(f"{self.num_envs} robots need as many seeds, got {len(seeds)}")
        if not self.lanes.generators:
            self.lanes.generators = [seeding.np_random(own)[0] for own in seeds]
            return
        made = list(self.lanes.generators)
        for k in which:
            if seeds[k] is not None:
                made[k] = seeding.np_random(seeds[k])[0]
        self.lanes.generators = made

    def step(self, actions: ndarray) -> tuple[ndarray, ndarray, ndarray, ndarray, dict[str, PyTree]]:
        """Apply actions for a tick in all environments; those that are done are reset."""
        done = self.lanes.tick(actions)
        terminated, truncated = done.fallen, done.late & ~done.fallen
        over = terminated | truncated
        frames = done.result.observation.copy()
        info = _info(done.result)
        infos: dict[str, PyTree] = {}
        critic_obs = ended = self.lanes.privileged(slice(None))
        if not over.all():
            _add(infos, {key: value[~over] for key, value in info.items()}, ~over)
        if over.any():
            which = np.flatnonzero(over)
            final = np.full(self.num_envs, None, dtype=object)
            for k, last in zip(which, self.lanes.last_observation(frames[which], which)):
                final[k] = last.astype(np.float32)
            infos["final_obs"], infos["_final_obs"] = final, over.copy()
            critic_obs = ended.copy()
            ends: dict[str, PyTree] = {}
            _add(ends, {key: value[over] for key, value in info.items()}, over)
            infos["final_info"], infos["_final_info"] = ends, over.copy()
            self.lanes.begin(which)
            frames[which] = self.lanes.look(which).observation
            critic_obs[which] = self.lanes.privileged(which)
            _add(infos, self.lanes.episode(which), over)
        if critic_obs.size:
            infos |= {"privileged": critic_obs, "final_privileged": ended}
        observation = self.lanes.observe(frames)
        reward = np.asarray(done.result.reward, dtype=float)
        return observation, reward, terminated, truncated, infos

    def render(self) -> tuple[ndarray, ...]:
        """Return a picture of every robot."""
        if self.render_mode is None:
            raise InputError('there is nothing to render: make the environment with render_mode="rgb_array"')
        lanes, robot = self.lanes, self.lanes.robot
        if not self._pictures:
            self._pictures = [Pictures(robot, 1.0 / lanes.task.drive.rate) for _ in range(self.num_envs)]
        for k, pictures in enumerate(self._pictures):
            pictures.forget()
            state = lanes.batch.state
            pictures.add(float(lanes.age[k]), state.q[k], state.v[k], state.forces[k, : robot.nf])
        return tuple(pictures.picture() for pictures in self._pictures)


def _mask(mask: object, n: int) -> ndarray:
    """Return the lanes selected by a mask; all without one."""
    if mask is None:
        return np.arange(n)
    if not isinstance(mask, np.ndarray) or mask.shape != (n,) or mask.dtype != np.bool_ or not mask.any():
        raise InputError(f"reset_mask must be {n} booleans, at least one of them True")
    return np.flatnonzero(mask)


def _add(infos: dict[str, PyTree], values: Mapping[str, ndarray], mask: ndarray) -> None:
    """Add a value to Gymnasium's infos of a vector: an array over all lanes, and under ``_key`` which lanes have the
    value.
    """
    for key, value in values.items():
        if mask.all():
            array = np.array(value)
        else:
            array = np.zeros((len(mask), *value.shape[1:]), value.dtype)
            array[mask] = value
        infos[key], infos[f"_{key}"] = array, mask.copy()
