"""Loading and eviction in the cache of trained models."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.predictions.cache import LeastRecentlyUsed
from app.telemetry.counts import ProcessCounts
from app.telemetry.instruments import CacheCounts


def cache_of(max_bytes: int) -> LeastRecentlyUsed[str]:
    """Return a cache of texts, each of which counts as its length once it is loaded."""
    return LeastRecentlyUsed(max_bytes, CacheCounts(ProcessCounts()), measure=len)


def test_a_key_is_loaded_once_by_many_threads():
    cache, loads, go = cache_of(max_bytes=100), [], threading.Event()

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
    cache = cache_of(max_bytes=10)
    for key in ("a", "b"):
        cache.get(key, 5, lambda: "older")
    cache.get("a", 5, lambda: "newer")
    cache.get("c", 5, lambda: "older")
    assert cache.get("a", 5, lambda: "newer") == "older"
    assert cache.get("b", 5, lambda: "newer") == "newer"
    assert cache.cached_bytes == 10


def test_an_entry_larger_than_the_cache_is_kept_alone():
    cache, long = cache_of(max_bytes=10), "x" * 50
    cache.get("a", 5, lambda: "older")
    cache.get("b", 50, lambda: long)
    assert cache.get("b", 50, lambda: "newer") == long
    assert cache.cached_bytes == 50


def test_an_entry_that_turns_out_larger_when_loaded_evicts_others():
    cache = cache_of(max_bytes=10)
    cache.get("a", 5, lambda: "older")
    cache.get("b", 5, lambda: "x" * 8)
    assert cache.cached_bytes == 8
    assert cache.get("a", 5, lambda: "newer") == "newer"


def test_a_failed_load_is_not_cached():
    cache = cache_of(max_bytes=100)

    def fail():
        raise OSError("unavailable")

    with pytest.raises(OSError, match="unavailable"):
        cache.get("a", 5, fail)
    assert cache.cached_bytes == 0
    assert cache.get("a", 5, lambda: "here") == "here"
