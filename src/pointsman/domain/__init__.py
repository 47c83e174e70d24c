"""What Pointsman is about, in pure Python: no I/O, no clock, no threads, the standard library only."""
