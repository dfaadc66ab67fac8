"""The web page: a commanded robot in a browser on this machine, and recordings with a timeline."""
