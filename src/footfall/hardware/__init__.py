"""Between controller and physics: what real motors make of a command."""
