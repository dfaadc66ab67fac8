"""A vendor-neutral protocol: any robot, any number of named joints, over UDP or DDS.
``docs/guides/robot-protocol.md``.
"""
