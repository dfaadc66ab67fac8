"""A made-up trot of the Mini Cheetah: smooth columns with the look of a run, for tests of recordings and plots."""

import math
from pathlib import Path

import numpy as np

from footfall.recording import recording_writer
from footfall.recording.recording import Event, Recording
from footfall.recording.recording_file import RecordingWriter
from footfall.robot import library

ROBOT = library.load("mini_cheetah")


def made_up_columns(duration: float = 2.0, dt: float = 1e-3, period: float = 0.5, speed: float = 0.25):
    rng = np.random.default_rng(7)
    t = np.arange(round(duration / dt) + 1) * dt
    w = 2 * np.pi / period
    ramp = np.clip(t, 0, 1)
    yaw, pitch, roll = 0.02 * t, 0.02 * ramp * np.sin(2 * w * t), 0.01 * ramp * np.sin(w * t)
    q = np.zeros((len(t), ROBOT.nq))
    q[:, 0] = speed * (t - 0.5 + 0.5 * np.exp(-2 * t)) + 0.002 * np.sin(2 * w * t)
    q[:, 1] = 0.004 * np.sin(w * t) + 0.003 * t
    q[:, 2] = 0.29 + 0.003 * np.cos(2 * w * t)
    cy, sy, cp, sp, cr, sr = (f(a / 2) for a in (yaw, pitch, roll) for f in (np.cos, np.sin))
    q[:, 3] = cr * cp * cy + sr * sp * sy
    q[:, 4] = sr * cp * cy - cr * sp * sy
    q[:, 5] = cr * sp * cy + sr * cp * sy
    q[:, 6] = cr * cp * sy - sr * sp * cy
    phase = np.outer(t / period, np.ones(4)) + np.array([0.0, 0.5, 0.5, 0.0])
    phase = phase - np.floor(phase)
    for leg in range(4):
        swing = np.sin(2 * np.pi * phase[:, leg])
        q[:, 7 + 3 * leg] = 0.01 * swing
        q[:, 8 + 3 * leg] = -0.8 + 0.2 * ramp * swing
        q[:, 9 + 3 * leg] = 1.6 + 0.25 * ramp * np.cos(2 * np.pi * phase[:, leg])
    v = np.zeros((len(t), ROBOT.nv))
    v[:, 3:6] = np.gradient(q[:, :3], dt, axis=0)
    v[:, 6:] = np.gradient(q[:, 7:], dt, axis=0)
    contact = phase < 0.55
    force = np.zeros((len(t), 4, 3))
    push = np.sin(np.pi * np.clip(phase / 0.55, 0, 1)) * contact
    force[:, :, 2] = 68 * push + 1.5 * contact * rng.normal(size=contact.shape)
    force[:, :, 0] = 8 * np.sin(2 * np.pi * np.clip(phase / 0.55, 0, 1)) * contact
    position = q[:, 7:] + 0.05 * np.sin(w * t)[:, None]
    torque = 40 * (position - q[:, 7:]) - v[:, 6:] * 0.2
    power = (torque * v[:, 6:]).sum(axis=1)
    work = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * dt)])
    kinetic = 0.5 * ROBOT.mass * (v[:, 3:6] ** 2).sum(axis=1) + 0.02 * (v[:, 6:] ** 2).sum(axis=1)
    potential = 9.81 * ROBOT.mass * q[:, 2]
    friction = -0.1 * np.cumsum((v[:, 6:] ** 2).sum(axis=1)) * dt
    friction -= friction[0]
    contact_work = (kinetic + potential) - (kinetic + potential)[0] - work - friction
    return {
        "time": t,
        "q": q,
        "v": v,
        "command_position": position,
        "command_torque": np.zeros_like(torque),
        "torque": torque,
        "force": force,
        "contact": contact,
        "kinetic": kinetic,
        "potential": potential,
        "work": work,
        "contact_work": contact_work,
        "friction_work": friction,
    }


def made_up_trot(duration: float = 2.0, **options) -> Recording:
    events = [Event(0.5, "push", "10 N to the left"), Event(duration, "stop", "the time was up")]
    meta = {"dt": 1e-3, "controller": "JointPD", "contact": "Compliant", "seed": 0, "fell": False}
    return Recording(ROBOT, made_up_columns(duration, **options), events, meta)


def written_in_chunks(path: Path, recording: Recording, chunk_rows: int = 64) -> Path:
    """A recording's file as a run writes it: ten rows at a time, each chunk full however slow the machine is."""
    flush, recording_writer.FLUSH_SECONDS = recording_writer.FLUSH_SECONDS, math.inf
    try:
        with RecordingWriter(path, recording.robot, recording.meta, chunk_rows=chunk_rows) as writer:
            for start in range(0, len(recording), 10):
                events = [e for e in recording.events if start / 1000 <= e.time < start / 1000 + 0.01]
                writer.append({k: a[start : start + 10] for k, a in recording.columns.items()}, events)
    finally:
        recording_writer.FLUSH_SECONDS = flush
    return path
