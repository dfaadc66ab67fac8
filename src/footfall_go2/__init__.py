"""footfall_go2: the protocol of the Unitree Go2: messages, a client, and a simulated robot with firmware."""

from nptrace import packages

packages.register(__name__, __path__[0])
