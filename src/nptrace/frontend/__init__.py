"""NumPy as a trace sees it: traced scalars and arrays, and NumPy's functions of them."""
