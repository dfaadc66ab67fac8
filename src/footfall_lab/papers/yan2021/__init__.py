"""Yan, Pan, Che, Yu, Han 2021."""
