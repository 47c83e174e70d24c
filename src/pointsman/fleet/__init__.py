"""All of Pointsman's processes on one machine: started in order, kept alive, and ended together."""
