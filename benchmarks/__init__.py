"""What Pointsman promises about speed and size, measured. `benchmarks/pipeline.py` is the entry."""
