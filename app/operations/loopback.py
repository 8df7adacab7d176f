"""HTTP to this very machine. A proxy from the environment is for the world outside and could not reach it."""

from urllib.request import ProxyHandler, build_opener

#: As `urllib.request.urlopen`, without proxies.
open_loopback = build_opener(ProxyHandler({})).open
