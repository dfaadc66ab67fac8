"""What a robot is: links, joints, feet, the tree, and builders of robots."""
