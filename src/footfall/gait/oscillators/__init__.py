"""Oscillators that time the legs: phase equations, the Rulkov map, and networks of them."""
