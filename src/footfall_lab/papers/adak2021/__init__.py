"""Adak, Bahceci, Erbatur 2021."""
