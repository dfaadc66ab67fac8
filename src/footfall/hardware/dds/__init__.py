"""Go2's interface and ROS 2's topics on DDS: needs the extra ``dds``."""
