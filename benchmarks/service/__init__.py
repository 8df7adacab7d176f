"""Load, memory and latency of the running service."""
