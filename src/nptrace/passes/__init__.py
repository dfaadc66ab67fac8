"""Passes over a program in SSA form, before code generation."""
