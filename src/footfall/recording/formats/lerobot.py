"""A recording as a LeRobot dataset (version 3.0), without its package: one episode, one parquet file and metadata.

``observation.state`` has the measurements of a robot (joints, rates, IMU, attitude, loads of the feet), ``action`` the
commands to its joints: positions, and feedforward torques as ``action.torque``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, need_extra
from footfall.recording.formats.frames import frames
from footfall.recording.recording import Recording
from nptrace._types import Json

if TYPE_CHECKING:
    from pyarrow import Table

VERSION = "v3.0"
_DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_FIRST = "chunk-000/file-000.parquet"


def write(recordings: Recording | list[Recording], folder: Path, rate: float = 50.0, task: str = "walk") -> int:
    """Write a folder with one episode per recording, all of one robot; return its number of frames."""
    need_extra("pyarrow", "lerobot", "a LeRobot dataset")
    need_extra("pandas", "lerobot", "a LeRobot dataset")
    import pandas

    recordings = [recordings] if isinstance(recordings, Recording) else recordings
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} already exists: a dataset needs a new folder")
    if abs(rate - round(rate)) > 1e-9 or rate < 1:
        raise InputError(f"a LeRobot dataset has a whole number of frames per second, got {rate:g}")
    if len({recording.robot.digest for recording in recordings}) != 1:
        raise InputError("all episodes of a dataset must be of one robot")
    rows: list[dict[str, ndarray]] = [_episode(recording, rate) for recording in recordings]
    names = _names(recordings[0])
    data, episodes, start = [], [], 0
    for index, columns in enumerate(rows):
        length = len(columns["action"])
        count = np.arange(length)
        numbered = {
            **columns,
            "timestamp": (count / rate).astype(np.float32),
            "frame_index": count,
            "episode_index": np.full(length, index),
            "index": start + count,
            "task_index": np.zeros(length, int),
        }
        data.append(numbered)
        episodes.append(
            {
                "episode_index": index,
                "tasks": [task],
                "length": length,
                "data/chunk_index": 0,
                "data/file_index": 0,
                "dataset_from_index": start,
                "dataset_to_index": start + length,
                "meta/episodes/chunk_index": 0,
                "meta/episodes/file_index": 0,
                **{
                    f"stats/{key}/{name}": value
                    for key, part in _stats(numbered).items()
                    for name, value in part.items()
                },
            }
        )
        start += length
    whole = {key: np.concatenate([part[key] for part in data]) for key in data[0]}
    for place in ("data/chunk-000", "meta/episodes/chunk-000"):
        (folder / place).mkdir(parents=True)
    _table(whole).to_parquet(folder / "data" / _FIRST, index=False)
    pandas.DataFrame(episodes).to_parquet(folder / "meta/episodes" / _FIRST, index=False)
    pandas.DataFrame({"task_index": [0]}, index=pandas.Index([task], name="task")).to_parquet(
        folder / "meta/tasks.parquet"
    )
    (folder / "meta/stats.json").write_text(json.dumps(_stats(whole), indent=1))
    info = _info(recordings[0].robot.name, whole, names, len(rows), start, round(rate))
    (folder / "meta/info.json").write_text(json.dumps(info, indent=1))
    return start


def _episode(recording: Recording, rate: float) -> dict[str, ndarray]:
    taken = list(frames(recording, rate))
    rows = np.unique(np.searchsorted(recording.time, np.array([f.stamp for f in taken]) * 1e-9 - 1e-9))
    state = [np.concatenate([f.q[7:], f.v[6:], f.q[3:7], f.gyro, f.acceleration, f.force[:, 2]]) for f in taken]
    if "command_position" not in recording:
        raise InputError(
            "the recording has no column 'command_position': a dataset needs the commanded joint positions"
        )
    columns = {"observation.state": np.array(state), "action": recording["command_position"][rows]}
    if "command_torque" in recording:
        columns["action.torque"] = recording["command_torque"][rows]
    return {key: value.astype(np.float32) for key, value in columns.items()}


def _names(recording: Recording) -> dict[str, list[str]]:
    robot = recording.robot
    state = [f"{name}.position" for name in robot.joint_names] + [f"{name}.velocity" for name in robot.joint_names]
    state += [f"attitude.{axis}" for axis in "wxyz"] + [f"gyro.{axis}" for axis in "xyz"]
    state += [f"acceleration.{axis}" for axis in "xyz"] + [f"{foot}.load" for foot in robot.foot_names]
    return {"observation.state": state, "action": list(robot.joint_names), "action.torque": list(robot.joint_names)}


def _stats(columns: dict[str, ndarray]) -> dict[str, dict[str, Json]]:
    found = {}
    for key, value in columns.items():
        flat = value.reshape(len(value), -1).astype(float)
        found[key] = {
            "min": flat.min(axis=0).tolist(),
            "max": flat.max(axis=0).tolist(),
            "mean": flat.mean(axis=0).tolist(),
            "std": flat.std(axis=0).tolist(),
            "count": [len(value)],
        }
    return found


def _table(columns: dict[str, ndarray]) -> Table:
    import pandas

    return pandas.DataFrame({key: list(value) if value.ndim > 1 else value for key, value in columns.items()})


def _info(
    robot: str, columns: dict[str, ndarray], names: dict[str, list[str]], episodes: int, total: int, fps: int
) -> dict[str, Json]:
    features = {
        key: {"dtype": value.dtype.name, "shape": list(value.shape[1:]) or [1], "names": names.get(key)}
        for key, value in columns.items()
    }
    return {
        "codebase_version": VERSION,
        "robot_type": robot,
        "total_episodes": episodes,
        "total_frames": total,
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": fps,
        "splits": {"train": f"0:{episodes}"},
        "data_path": _DATA,
        "video_path": None,
        "features": features,
    }


__all__ = ["VERSION", "write"]
