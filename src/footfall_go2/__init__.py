"""footfall_go2: the protocol of Unitree's Go2: its messages, a client, and a simulated robot with its firmware."""

from nptrace import packages

packages.register(__name__, __path__[0])
