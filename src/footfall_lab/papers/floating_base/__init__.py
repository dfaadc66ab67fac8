"""The lecture slides on floating-base systems."""
