"""Further formulations of the equations of motion from the papers; little else depends on them."""
