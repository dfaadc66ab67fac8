"""Small model files for the import tests, and ways to spoil them."""

import random
import xml.etree.ElementTree as ET

_LEGS = {"FL": (1, 1), "FR": (1, -1), "RL": (-1, 1), "RR": (-1, -1)}


def small_urdf() -> str:
    """A quadruped with two joints a leg, legs in the order of Unitree's files, rotated frames and inertias."""
    parts = [
        '<link name="trunk"><inertial><origin xyz="0.01 0 0.02" rpy="0.1 0.2 0.3"/><mass value="6"/>'
        '<inertia ixx="0.05" ixy="0.001" ixz="0" iyy="0.12" iyz="0" izz="0.14"/></inertial>'
        '<visual><geometry><box size="0.4 0.2 0.1"/></geometry></visual></link>'
    ]
    for leg in ("FR", "FL", "RR", "RL"):
        x, y = _LEGS[leg]
        parts.append(f"""
  <joint name="{leg}_hip_joint" type="revolute"><origin xyz="{0.2 * x} {0.1 * y} 0" rpy="0 0.5 {0.3 * y}"/>
    <parent link="trunk"/><child link="{leg}_thigh"/><axis xyz="0 {y} 0"/>
    <limit lower="-1" upper="2" effort="20" velocity="10"/><dynamics damping="0.1" friction="0.2"/></joint>
  <link name="{leg}_thigh"><inertial><origin xyz="0 0 -0.1"/><mass value="1"/>
    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.001"/></inertial></link>
  <joint name="{leg}_knee_joint" type="continuous"><origin xyz="0 0 -0.2"/>
    <parent link="{leg}_thigh"/><child link="{leg}_calf"/><axis xyz="0 1 0"/></joint>
  <link name="{leg}_calf"><inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/>
    <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.0005"/></inertial></link>
  <joint name="{leg}_foot_fixed" type="fixed"><origin xyz="0 0 -0.2"/>
    <parent link="{leg}_calf"/><child link="{leg}_foot"/></joint>
  <link name="{leg}_foot"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>""")
    return f'<?xml version="1.0"?>\n<robot name="small">\n{"".join(parts)}\n</robot>\n'


def small_mjcf() -> str:
    """A quadruped with two hinges at the hip (one body), knees, default classes, a mesh, motors and a key frame."""
    legs = []
    for leg, (x, y) in _LEGS.items():
        legs.append(f"""
      <body name="{leg}_thigh" pos="{0.2 * x} {0.1 * y} 0" euler="0 10 0">
        <joint name="{leg}_abad" axis="1 0 0" class="abad"/>
        <joint name="{leg}_hip" axis="0 1 0" pos="0 {0.05 * y} 0" range="-60 120" ref="10"/>
        <inertial pos="0 0 -0.1" mass="1" fullinertia="0.004 0.004 0.001 1e-4 0 0"/>
        <geom class="visual" mesh="thigh"/>
        <body name="{leg}_calf" pos="0 0 -0.2">
          <joint name="{leg}_knee" axis="0 1 0" stiffness="3" springref="-40" frictionloss="0.1"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.01" density="2000"/>
          <geom name="{leg}" type="sphere" size="0.02" pos="0 0 -0.2" mass="0.05"/>
        </body>
      </body>""")
    motors = "".join(f'<motor joint="{leg}_{j}" ctrlrange="-20 20"/>' for leg in _LEGS for j in ("abad", "hip", "knee"))
    return f"""<mujoco model="small">
  <compiler angle="degree" meshdir="meshes"/>
  <default>
    <joint armature="0.01" damping="0.5"/>
    <default class="abad"><joint range="-45 45"/></default>
    <default class="visual"><geom type="mesh" contype="0" conaffinity="0" group="2"/></default>
  </default>
  <asset><mesh file="thigh.stl"/><texture name="sky" type="skybox" builtin="flat" width="8" height="8"/></asset>
  <worldbody>
    <geom type="plane" size="0 0 1"/><light pos="0 0 3"/>
    <body name="trunk" pos="0 0 0.4"><freejoint/>
      <geom type="box" size="0.2 0.1 0.05" mass="6"/><site name="imu"/>{"".join(legs)}
    </body>
  </worldbody>
  <actuator>{motors}</actuator>
  <sensor><gyro site="imu"/></sensor>
  <keyframe><key name="home" qpos="0 0 0.35 1 0 0 0 {" ".join(["0 0.6 -1.2"] * 4)}"/></keyframe>
</mujoco>
"""


_VALUES = (
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-1",
    "0",
    "1e-320",
    "1e300",
    "",
    " ",
    "x",
    "1 2",
    "0 0 0",
    "0 0 0 0",
    "9" * 400,
    "true",
    "../../../etc/passwd",
    "/etc/passwd",
    "package://other/x.stl",
    "mesh",
    "ball",
    "free",
    "trunk",
    "é",
    "--",
    "1,2",
    "main",
)


def mutated(text: str, seed: int) -> bytes:
    """The text with one to three mishaps: attributes or elements removed, repeated, moved, changed, or spoiled."""
    luck = random.Random(seed)
    if luck.random() < 0.2:
        return _spoiled(text.encode(), luck)
    root = ET.fromstring(text)
    for _ in range(luck.randint(1, 3)):
        parents = {child: parent for parent in root.iter() for child in parent}
        if not parents:
            break
        element = luck.choice(list(parents))
        parent, act = parents[element], luck.randrange(7)
        if act == 0:
            parent.remove(element)
        elif act == 1:
            parent.append(element)  # the same again
        elif act == 2:
            target = luck.choice(list(parents))
            if not any(below is target for below in element.iter()):
                target.append(element)
        elif act == 3:
            element.tag = luck.choice(list(parents)).tag
        elif element.attrib:
            key = luck.choice(list(element.attrib))
            if act == 4:
                del element.attrib[key]
            elif act == 5:
                element.set(key, luck.choice(_VALUES))
            else:
                other = luck.choice([e for e in root.iter() if e.attrib])
                element.set(luck.choice(list(other.attrib)), luck.choice(list(other.attrib.values())))
    return ET.tostring(root)


def _spoiled(data: bytes, luck: random.Random) -> bytes:
    act = luck.randrange(3)
    at = luck.randrange(len(data))
    if act == 0:
        return data[:at]
    if act == 1:
        return data[:at] + luck.randbytes(luck.randint(1, 20)) + data[at:]
    return data[:at] + data[min(len(data), at + luck.randint(1, 200)) :]
