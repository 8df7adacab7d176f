"""HTTP requests to this machine. They ignore proxies of the environment, which could not reach it."""

from urllib.request import ProxyHandler, build_opener

#: Like `urllib.request.urlopen`, but without proxies.
open_loopback = build_opener(ProxyHandler({})).open
