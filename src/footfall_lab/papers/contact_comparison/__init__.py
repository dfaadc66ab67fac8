"""Comparison of three contact models: our own question, after de Paula et al. 2024."""
