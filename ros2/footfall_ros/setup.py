"""The ROS 2 package, built by colcon (ament_python). footfall itself is installed by pip."""

from setuptools import setup

NAME = "footfall_ros"
setup(
    name=NAME,
    version="0.1.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", ["launch/simulate.launch.xml", "launch/control.launch.xml"]),
        (f"share/{NAME}/config", ["config/controllers.yaml"]),
    ],
    zip_safe=True,
    entry_points={
        "console_scripts": [
            "simulate = footfall_ros.node:main",
            "describe = footfall_ros.description:main",
        ]
    },
)
