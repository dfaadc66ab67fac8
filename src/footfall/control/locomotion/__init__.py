"""Locomotion under a velocity command: plan, footsteps, contact forces, whole-body QP, reflexes."""
