"""State estimation from IMU, encoders and foot forces."""
