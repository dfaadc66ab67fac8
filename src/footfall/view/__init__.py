"""The web page: a robot that walks as commanded in a browser on the same machine, and recordings with a timeline."""
