"""Backends that need neither torch nor Ray: any endpoint, a server on this machine, a fake for unit tests, a cache."""
