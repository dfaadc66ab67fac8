"""Recordings in formats of other programs: Foxglove, ROS 2, LeRobot."""
