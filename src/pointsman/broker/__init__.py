"""Kafka, and only here: client settings, topics, readers and writers, and the embedded broker."""
