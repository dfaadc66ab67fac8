"""De Paula, Godoy, Becerra-Vargas 2024."""
