"""Times and memory of fits and predictions, relative to other libraries; `python -m benchmarks` runs them."""
