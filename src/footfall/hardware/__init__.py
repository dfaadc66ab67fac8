"""Between a controller and a robot that is somewhere else: connections, clocks, limits, and a robot's own firmware."""
