"""Pointsman: join live Kafka topics on Spark, show them in live tables, re-point them by one message."""
