"""What needs a recording: motors identified from encoders."""
