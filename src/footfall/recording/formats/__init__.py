"""Recordings as others read them: Foxglove, ROS 2, LeRobot."""
