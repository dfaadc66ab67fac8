"""Controllers of joints: PD on a gait, computed torque, impedance at the feet, plans."""
