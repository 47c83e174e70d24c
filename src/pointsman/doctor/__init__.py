"""Looking whether everything that Pointsman needs is there: this machine, the broker, the topics, the tables."""
