"""The model of a robot: links, joints, feet, the tree, and builders of robots."""
