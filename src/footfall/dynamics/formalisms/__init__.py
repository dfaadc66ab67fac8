"""Further formulations of the equations of motion, as the papers have them; nothing else is built on most of them."""
