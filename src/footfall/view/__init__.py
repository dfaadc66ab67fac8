"""The web page: a robot that walks as it is told in a browser on the same machine, and recordings with a timeline."""
