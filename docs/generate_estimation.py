"""Figures and measured tables of state estimation: ``python docs/generate_estimation.py [CASE ...]``.

Without names all cases run (a quarter of an hour); results are added to docs/measured/estimation.json.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import footfall as ff
from footfall.analysis.estimation_error import EstimationErrors, estimation_errors
from footfall.contact.terrain import named
from footfall.sensing.sensor_faults import Fault
from footfall.sensing.sensors import Reading, Sensors
from footfall.sim.start import standing_start

HERE = Path(__file__).parent
MEASURED = HERE / "measured" / "estimation.json"


def scaled(factor: float, seed: int) -> Sensors:
    """The realistic sensors with all noise and bias times a factor."""
    sensors = Sensors.realistic(seed)
    louder = {
        key: Reading(noise=factor * reading.noise, bias=factor * reading.bias)
        for key in ("acceleration", "gyro", "position", "velocity", "force")
        for reading in [getattr(sensors, key)]
    }
    return dataclasses.replace(sensors, **louder)


def broken(sensor: str, kind: str, duration: float = np.inf, value: float = 0.0, axes=None) -> Sensors:
    return dataclasses.replace(
        Sensors.realistic(3),
        faults=(Fault(sensor=sensor, kind=kind, start=2.0, duration=duration, value=value, axes=axes),),
    )


def told_of(name: str) -> ff.control.Estimator:
    """An estimator that is told of its sensors' noise, if it is more than the usual, and of ground that is level."""
    factor = 2.0 if name == "noise x2" else 1.0
    return ff.control.Estimator(
        gyro=0.005 * factor,
        acceleration=0.1 * factor,
        encoder=1e-3 * factor,
        gyro_bias=0.01 * factor,
        acceleration_bias=0.1 * factor,
        gyro_disagreement=0.08 * factor,
        level=0.002 if "level" in name else None,
    )


CASES = {  # name: (ground, seconds, sensors)
    "plane 1": ("plane", 30.0, Sensors.realistic(1)),
    "rough 1": ("rough:0.03", 30.0, Sensors.realistic(1)),
    "plane 2": ("plane", 30.0, Sensors.realistic(2)),
    "rough 2": ("rough:0.03", 30.0, Sensors.realistic(2)),
    "plane 2, level": ("plane", 30.0, Sensors.realistic(2)),
    "noise x0.5": ("rough:0.03", 10.0, scaled(0.5, 1)),
    "noise x2": ("rough:0.03", 10.0, scaled(2.0, 1)),
    "typical": ("rough:0.03", 10.0, Sensors.typical(1)),
    "gyro missing": ("plane", 5.0, broken("gyro", "missing")),
    "gyro frozen": ("plane", 5.0, broken("gyro", "frozen")),
    "gyro biased by 0.2 rad/s": ("plane", 5.0, broken("gyro", "bias", value=0.2, axes=(1,))),
    "accelerometer missing": ("plane", 5.0, broken("acceleration", "missing")),
    "force sensor stuck at zero": ("plane", 5.0, broken("force", "stuck", axes=(0, 1, 2))),
    "force sensor stuck at full": ("plane", 5.0, broken("force", "stuck", value=90.0, axes=(2,))),
    "all force sensors missing": ("plane", 5.0, broken("force", "missing")),
    "one encoder missing for 1 s": ("plane", 5.0, broken("position", "missing", 1.0, axes=(4,))),
    "all joint rates missing": ("plane", 5.0, broken("velocity", "missing")),
}


def run(name: str) -> tuple[dict, EstimationErrors, list]:
    ground, seconds, sensors = CASES[name]
    robot, command, surface = ff.load("mini_cheetah"), ff.Command(forward=0.4), named(ground, 0, 0.8)
    controller = ff.control.Estimated(ff.control.Locomotion(), told_of(name))
    start = standing_start(robot, controller.inner, surface, command)
    simulation = ff.Simulation(
        robot, controller, ground=surface, command=command, sensors=sensors, start=start, record_rate=200.0
    )
    recording = simulation.run(seconds)
    errors = estimation_errors(recording, controller.history())
    late = estimation_errors(recording, controller.history(), after=2.0) if sensors.faults else errors
    row = {key: round(value, 6) for key, value in late.figures().items()}
    first = [f"{t:.3f} s: {text}" for t, text in controller.log[:3]]
    stopped = None if simulation.stopped is None else simulation.stopped.message
    return {"ground": ground, "seconds": seconds, "stopped": stopped, "log": first, **row}, errors, controller.log


def bands(errors: EstimationErrors, path: Path, log: list, title: str) -> None:
    """Errors of what is observable and of what drifts, in bands of three standard deviations."""
    figure, axes = plt.subplots(3, 3, figsize=(9.5, 6.4), sharex=True, constrained_layout=True)
    rows = (
        (np.degrees(errors.turn), np.degrees(errors.deviation[:, :3]), ("roll [deg]", "pitch [deg]", "yaw [deg]")),
        (errors.velocity, errors.deviation[:, 3:6], ("v x [m/s]", "v y [m/s]", "v z [m/s]")),
        (1e3 * errors.position, 1e3 * errors.deviation[:, 6:], ("x [mm]", "y [mm]", "z [mm]")),
    )
    settled = errors.time > 0.5
    for line, (error, sigma, names) in zip(axes, rows):
        for k, axis in enumerate(line):
            axis.fill_between(errors.time, -3 * sigma[:, k], 3 * sigma[:, k], color="#c9d8ea", lw=0)
            axis.plot(errors.time, error[:, k], color="#12355b", lw=0.8)
            reach = 1.15 * max(3 * sigma[settled, k].max(), np.abs(error[settled, k]).max())
            axis.set_ylim(-reach, reach)
            axis.set_title(names[k], fontsize=9)
            axis.tick_params(labelsize=8)
            for t, _ in log[:1]:
                axis.axvline(t, color="#b3261e", lw=0.8, ls="--")
    for axis in axes[-1]:
        axis.set_xlabel("time [s]", fontsize=9)
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=80)
    plt.close(figure)


FIGURES = {
    "rough 1": ("estimation_rough.png", "Estimate less truth, 30 s over rough ground (3 cm): error and 3 sigma"),
    "gyro biased by 0.2 rad/s": (
        "estimation_gyro_bias.png",
        "A gyro that lies by 0.2 rad/s from 2 s on (dashed: flagged): error and 3 sigma",
    ),
}


def main(names: list[str]) -> None:
    found = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    for name in names or CASES:
        row, errors, log = run(name)
        found[name] = row
        MEASURED.write_text(json.dumps({key: found[key] for key in CASES if key in found}, indent=1) + "\n")
        print(name, row, flush=True)
        if name in FIGURES:
            file, title = FIGURES[name]
            bands(errors, HERE / "figures" / file, log, title)


if __name__ == "__main__":
    main(sys.argv[1:])
