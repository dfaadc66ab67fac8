"""The NumPy that a trace sees: traced scalars and arrays, and NumPy's functions of them."""
