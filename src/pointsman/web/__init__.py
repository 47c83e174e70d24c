"""The page and its small API. Reads and writes Kafka through pointsman.broker, and talks to no other process."""
