"""Loading and eviction in the cache of trained models."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.predictions.cache import LeastRecentlyUsed


def test_a_key_is_loaded_once_by_many_threads():
    cache, loads, go = LeastRecentlyUsed[str](), [], threading.Event()

    def load():
        loads.append(1)
        go.wait(10)
        return "tree"

    with ThreadPoolExecutor(8) as threads:
        futures = [threads.submit(cache.get, "a", 1, load) for _ in range(8)]
        # Another key does not wait for the one that is being loaded.
        assert cache.get("b", 1, lambda: "other") == "other"
        go.set()
        assert {future.result() for future in futures} == {"tree"}
    assert len(loads) == 1


def test_the_least_recently_used_entry_is_evicted_first():
    cache = LeastRecentlyUsed[str](max_bytes=10)
    for key in ("a", "b"):
        cache.get(key, 5, lambda: "old")
    cache.get("a", 5, lambda: "new")
    cache.get("c", 5, lambda: "old")
    assert cache.get("a", 5, lambda: "new") == "old"
    assert cache.get("b", 5, lambda: "new") == "new"
    assert cache.cached_bytes == 10


def test_an_entry_larger_than_the_cache_is_kept_alone():
    cache = LeastRecentlyUsed[str](max_bytes=10)
    cache.get("a", 5, lambda: "old")
    cache.get("b", 50, lambda: "old")
    assert cache.get("b", 50, lambda: "new") == "old"
    assert cache.cached_bytes == 50


def test_a_failed_load_is_not_cached():
    cache = LeastRecentlyUsed[str]()

    def fail():
        raise OSError("unavailable")

    with pytest.raises(OSError, match="unavailable"):
        cache.get("a", 5, fail)
    assert cache.cached_bytes == 0
    assert cache.get("a", 5, lambda: "here") == "here"
