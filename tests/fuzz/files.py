"""Spoiled recordings, policies, checkpoints, joint angles, motors, studies, run files and journals."""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from spoil import spoiled_bytes, spoiled_json, spoiled_text, strange

from footfall.control.interface import Command, Sensed
from footfall.control.learned.policy import SHIPPED, Policy
from footfall.recording import mcap_file
from footfall.recording.recording import Event, Recording
from footfall.recording.recording_file import RecordingError, RecordingWriter, recover
from footfall.robot import Foot, Joint, Link, Robot, library
from footfall.robot.model.json_form import robot_to_json
from footfall.sim.runfile import options_of, plan, read_run_file
from footfall.sim.simulation import Simulation
from footfall.sweep import table
from footfall.sweep.item import check_names
from footfall.sweep.journal import Journal
from footfall.sweep.study import parse_study

Case = Callable[[int], str]


def small_robot() -> Robot:
    """A trunk on one leg: compiled in a moment."""
    inertia = np.diag([0.01, 0.02, 0.02])
    links = [
        Link(name="trunk", mass=3.0, com=(0.0, 0.0, 0.0), inertia=inertia),
        Link(name="leg", mass=1.0, com=(0.0, 0.0, -0.1), inertia=inertia),
    ]
    foot = Foot(name="F", link="leg", position=(0.0, 0.0, -0.3), radius=0.02)
    return Robot(
        name="hopper",
        links=links,
        joints=[Joint(name="hip", kind="revolute", parent="trunk", child="leg", axis=(0.0, 1.0, 0.0))],
        feet=[foot],
    )


def as_json(value: Any) -> str:
    return json.dumps(value)


# -- recordings --------------------------------------------------------------------------------------------------------
def recordings(folder: Path) -> Case:
    """Whole or recoverable with the numbers that were recorded, or refused."""
    robot = small_robot()
    rows = 60
    random_numbers = np.random.default_rng(5)
    columns = {
        "time": np.arange(rows) * 1e-3,
        "q": random_numbers.normal(size=(rows, robot.nq)),
        "v": random_numbers.normal(size=(rows, robot.nv)),
        "kinetic": np.ones(rows),
        "contact": np.ones((rows, 1), bool),
    }
    sources = []
    for compression in ("zstd", ""):
        with RecordingWriter(folder / "whole.mcap", robot, {"dt": 1e-3}, 16, compression) as writer:
            writer.append(columns, [Event(0.01, "push", "a push")])
        sources.append((folder / "whole.mcap").read_bytes())
    Recording(robot, columns).to_netcdf(folder / "whole.nc")
    tables = (folder / "whole.nc").read_bytes()
    path = folder / "case.mcap"

    def check(rec: Recording) -> None:
        """What is opened is what was recorded: whole rows of it, and its robot."""
        places = np.searchsorted(columns["time"], rec.time)
        if rec.robot.digest != robot.digest or not np.array_equal(rec.q, columns["q"][np.minimum(places, rows - 1)]):
            raise AssertionError("a damaged recording opened with other numbers")

    def case(seed: int) -> str:
        luck = random.Random(seed)
        act = luck.randrange(1, 10)
        if luck.randrange(50) == 0:
            (folder / "case.nc").write_bytes(spoiled_bytes(tables, luck))
            Recording.from_netcdf(folder / "case.nc")
            return "loaded"
        if act <= 4:
            made_of_json(path, robot, columns, luck)
        else:
            path.write_bytes(spoiled_bytes(luck.choice(sources), luck))
        try:
            rec = Recording.load(path)
        except RecordingError as error:
            if "footfall recover" not in str(error):
                raise
            recover(path, folder / "saved.mcap")
            rec = Recording.load(folder / "saved.mcap")
        if act > 4:
            check(rec)
        look_at(rec, luck)
        return "loaded"

    return case


def made_of_json(path: Path, robot: Robot, columns: dict[str, Any], luck: random.Random) -> None:
    """A file whose checksums hold and whose robot, columns, events or meta are strange."""
    kind = luck.randrange(4)
    whole = {"robot": robot_to_json(robot), "meta": as_json({"ground_form": {"kind": "Plane", "friction": 0.8}})}
    layout = [[name, np.asarray(a).dtype.name, list(a.shape[1:]), ""] for name, a in columns.items()]
    event: Any = {"time": 0.1, "name": "push", "message": "a push"}
    if kind == 0:
        whole["robot"] = as_json(spoiled_json(json.loads(whole["robot"]), luck))
    elif kind == 1:
        whole["meta"] = as_json(spoiled_json(json.loads(whole["meta"]), luck))
    elif kind == 2:
        layout = spoiled_json(layout, luck)
    else:
        event = spoiled_json(event, luck)
    file = mcap_file.McapWriter(path, "x", "")
    digest = hashlib.sha256(whole["robot"].encode()).hexdigest()
    file.metadata("footfall", {"format": "1", "meta": whole["meta"], "robot": digest})
    file.attachment("robot.json", "application/json", whole["robot"].encode())
    schema = file.schema("x", "jsonschema", b"{}")
    events = file.channel("/events", "json", schema)
    samples = file.channel("/sample", "ros1", schema, {"columns": as_json(layout)})
    text = as_json(event).encode()
    said = mcap_file.messages(mcap_file.message_dtype([("bytes", "u1", (len(text),))]), events, 0, np.zeros(1, "<u8"))
    said["data"]["bytes"] = np.frombuffer(text, "u1")
    kinds = {"f": "<f8", "i": "<i8", "b": "?"}
    fields = [(name, kinds[a.dtype.kind], a.shape[1:]) for name, a in columns.items()]
    rows = mcap_file.messages(mcap_file.message_dtype(fields), samples, 0, np.zeros(len(columns["time"]), "<u8"))
    for name, array in columns.items():
        rows["data"][name] = array
    file.chunk([rows, said])
    file.finish("footfall.end", {"meta": "{}"})


def look_at(rec: Recording, luck: random.Random) -> None:
    """What a page or a command does with a recording."""
    _ = rec.ground, rec.duration, rec.events, rec.robot.mass
    if len(rec) > 1 and rec.robot.floating:
        _ = rec.distance, rec.between(rec.time[0], rec.time[-1])
    if luck.randrange(20) == 0:
        rec.picture(width=32, height=32)


# -- archives ----------------------------------------------------------------------------------------------------------
def spoiled_archive(arrays: dict[str, Any], luck: random.Random) -> bytes:
    """An ``.npz`` with one array missing, reshaped, of another kind, or with strange numbers."""
    arrays = {key: np.array(value) for key, value in arrays.items()}
    key, act = luck.choice(list(arrays)), luck.randrange(8)
    array = arrays[key]
    if act == 0:
        del arrays[key]
    elif act == 1:
        arrays[key] = array.reshape(-1) if array.ndim > 1 else array.reshape(1, -1)
    elif act == 2:
        arrays[key] = array[..., :0] if array.ndim else array.reshape(1)
    elif act == 3:
        arrays[key] = np.array(luck.choice(("text", 3, True, 1j, [["a"]])))
    elif act == 4 and array.dtype.kind == "f" and array.size:
        flat = array.reshape(-1).copy()
        flat[luck.randrange(flat.size)] = luck.choice((np.nan, np.inf, 1e300, -1e300, 1e30, -1.0, 0.0, 1e12))
        arrays[key] = flat.reshape(array.shape)
    elif act == 5 and array.dtype.kind in "fu" and array.size:
        arrays[key] = array.astype(luck.choice(("f2", "i8", "u1", "U5", "c16")))
    elif act == 6:
        arrays[luck.choice(("W99", "x", "leaf999"))] = array
    file = io.BytesIO()
    np.savez(file, **arrays)
    return spoiled_bytes(file.getvalue(), luck) if act == 7 else file.getvalue()


def policies(folder: Path) -> Case:
    source = (SHIPPED / "mini_cheetah.npz").read_bytes()
    with np.load(SHIPPED / "mini_cheetah.npz") as found:
        arrays = {key: found[key] for key in found.files}
    words = json.loads(arrays["words"].tobytes())
    robot = library.load("mini_cheetah")
    q, v = robot.state("stand")
    sensed = Sensed(q=q, v=v, forces=np.zeros((robot.nf, 3)))
    path = folder / "case.npz"

    def case(seed: int) -> str:
        luck = random.Random(seed)
        act = luck.randrange(3)
        if act == 0:
            path.write_bytes(spoiled_bytes(source, luck))
        elif act == 1:
            path.write_bytes(spoiled_archive(arrays, luck))
        else:
            text = as_json(spoiled_json(words, luck)).encode()
            with zipfile.ZipFile(path, "w") as archive:
                for key, array in {**arrays, "words": np.frombuffer(text, np.uint8)}.items():
                    with archive.open(f"{key}.npy", "w") as file:
                        np.lib.format.write_array(file, np.asarray(array))
        policy = Policy.load(path)
        command, _ = policy(0.1, robot, sensed, Command(forward=0.3), policy.start(robot))
        if not np.isfinite(np.asarray(command.position, float)).all():
            raise AssertionError("a policy was loaded that asks for what is not finite")
        return "loaded"

    return case


def checkpoints(folder: Path) -> Case:
    simulation = Simulation(small_robot(), stop_on_fall=False)
    simulation.run(0.01)
    simulation.checkpoint(folder / "whole.npz")
    source = (folder / "whole.npz").read_bytes()
    with np.load(folder / "whole.npz") as found:
        arrays = {key: found[key] for key in found.files}
    path = folder / "case.npz"

    def case(seed: int) -> str:
        luck = random.Random(seed)
        path.write_bytes(spoiled_bytes(source, luck) if luck.randrange(2) else spoiled_archive(arrays, luck))
        simulation.resume(path)
        rec = simulation.run(0.003)
        if not (np.isfinite(rec.q).all() and np.isfinite(rec.time).all()):
            raise AssertionError("a run from a damaged checkpoint gave rows that are not finite")
        return "loaded"

    return case


def training_checkpoints(folder: Path) -> Case:
    """What a training goes on from is of its own shapes and finite, and it can go on."""
    from footfall.learn.ppo import Settings
    from footfall.learn.training import CpuTraining

    training = CpuTraining(robots=2, settings=Settings(hidden=(4,), steps=2, epochs=1, rows=4), seed=1)
    training.iterate()
    training.save(folder / "whole.npz")
    source = (folder / "whole.npz").read_bytes()
    with np.load(folder / "whole.npz") as found:
        arrays = {key: found[key] for key in found.files}
    words = json.loads(arrays["words"].tobytes())
    path = folder / "case.npz"

    def case(seed: int) -> str:
        luck = random.Random(seed)
        act = luck.randrange(3)
        if act == 0:
            path.write_bytes(spoiled_bytes(source, luck))
        elif act == 1:
            path.write_bytes(spoiled_archive(arrays, luck))
        else:
            text = as_json(spoiled_json(words, luck)).encode()
            np.savez(path, **{**arrays, "words": np.frombuffer(text, np.uint8)})
        training.resume(path)
        policy = training.policy()
        if not all(np.isfinite(x).all() for layer in policy.weights for x in layer):
            raise AssertionError("a training goes on from numbers that are not finite")
        if luck.randrange(20) == 0:
            training.iterate()
        return "loaded"

    return case


# -- motors ------------------------------------------------------------------------------------------------------------
def motors(folder: Path) -> Case:
    """Joint angles that ``footfall identify motors`` reads, and the file that it writes, as ``--motors`` reads it."""
    from footfall.analysis.hanging import COLUMNS, Encoders
    from footfall.analysis.motor_report import read_identified
    from footfall.sim.motors import MotorModel

    robot = small_robot()
    time = np.arange(300) * 0.01
    angles = np.sin(time)[:, None]
    arrays = {"time": time, "wanted": angles, "measured": 0.9 * angles}
    sources = []
    for save in (np.savez, np.savez_compressed):
        save(folder / "whole.npz", **arrays)
        sources.append((folder / "whole.npz").read_bytes())
    row = dict.fromkeys(COLUMNS, 0.0) | {"armature": 0.01, "static_ratio": 1.1, "gain": 0.9, "delay": 0.004}
    written: Any = {
        "format": 1,
        "joints": list(robot.joint_names),
        "table": [[row[key] for key in COLUMNS]],
        "motors": {"bias": [0.0], "gain": [0.9], "delay": [0.004]},
    }
    path = folder / "case.npz"

    def case(seed: int) -> str:
        luck = random.Random(seed)
        act = luck.randrange(4)
        if act < 2:
            path.write_bytes(spoiled_archive(arrays, luck) if act == 0 else spoiled_bytes(luck.choice(sources), luck))
            found = Encoders.read(path)
            if not (found.period > 0 and np.isfinite(found.measured).all() and np.isfinite(found.wanted).all()):
                raise AssertionError("joint angles were read that are not finite")
            return "loaded"
        file = folder / "case.json"
        whole = as_json(written).encode()
        file.write_bytes(spoiled_text(whole, luck) if act == 2 else as_json(spoiled_json(written, luck)).encode())
        model = MotorModel.read(file)
        changed, identified, _ = read_identified(file, robot)
        for part in (model, identified):
            if not all(np.isfinite(getattr(part, key)).all() for key in ("bias", "gain", "delay")):
                raise AssertionError("motors were read that are not finite")
        if not np.isfinite([joint.armature for joint in changed.joints]).all():
            raise AssertionError("a robot of motors that are not finite")
        return "loaded"

    return case


# -- studies, run files, journals --------------------------------------------------------------------------------------
STUDY = b"""name = "small"
seed = 3
limit = 500
plot = ["mean_speed"]
[run]
robot = "mini_cheetah"
duration = 0.5
trunk.mass = 4.0
[grid]
speed = [0.2, 0.3, 0.4]
gait = ["trot", "walk"]
kp = { from = 30.0, to = 60.0, count = 4, spacing = "log" }
[samples]
count = 5
method = "sobol"
friction = { uniform = [0.4, 1.0] }
kd = { normal = [1.0, 0.1] }
"""
RUN = b"""robot = "mini_cheetah"
gait = "trot"
speed = 0.3
ground = "slope:5"
duration = 2.0
dt = 1e-3
friction = 0.8
seed = 4
estimate = false
controller = "pd"
"""


SCHEDULED = b"""robot = "mini_cheetah"
controller = "mpc"
duration = 6.0
push = "1.0, 0.1, 0, 60, 0; 2.0, 0.1, 0, -60, 0, trunk"
schedule = [
  { time = 0.0, forward = 0.3 },
  { time = 2.5, forward = 0.3, turn = 0.5 },
  { time = 4, sideways = 0.1, height = -0.02 },
]
"""


def studies(folder: Path) -> Case:
    small = parse_study('[run]\nrobot = "mini_cheetah"\n[grid]\nspeed = [0.1, 0.2, 0.3]', folder)
    items = small.items()
    answer: Any = {"status": "done", "result": {"distance": 1.5, "speed m/s": [1, 2]}, "message": None, "seconds": 0.1}
    header: Any = {"format": 1, "study": "study", "versions": {}}

    def case(seed: int) -> str:
        luck = random.Random(seed)
        act = luck.randrange(3)
        if act == 0:
            study = parse_study(spoiled_text(STUDY, luck).decode("utf-8", "replace"), folder)
            study.items()
            if luck.randrange(40) == 0:
                check_names(study)
        elif act == 1:
            (folder / "case.toml").write_bytes(spoiled_text(luck.choice((RUN, SCHEDULED)), luck))
            options = options_of(read_run_file(folder / "case.toml"))
            if luck.randrange(20) == 0:
                plan(library.load("mini_cheetah"), options)
        else:
            lines = [header, *({"item": item.digest, "parameters": {}, **answer} for item in items)]
            lines[luck.randrange(len(lines))] = spoiled_json(luck.choice(lines), luck)
            text = "\n".join(map(as_json, lines)).encode() + b"\n"
            place = folder / "journal"
            place.mkdir(exist_ok=True)
            (place / "journal.jsonl").write_bytes(spoiled_text(text, luck) if luck.randrange(2) else text)
            journal = Journal(place, "study", True, {})
            journal.close()
            found = table.to_xarray(small, items, journal.entries)
            if luck.randrange(4) == 0:
                table.read(table.write(found, folder / "case.nc"))
        return "loaded"

    return case


__all__ = ["checkpoints", "motors", "policies", "recordings", "strange", "studies", "training_checkpoints"]
