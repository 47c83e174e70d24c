"""Sends one control message and waits for its verdict."""

import json
import os
import sys
import time
import uuid

from confluent_kafka import Consumer, Producer, TopicPartition

BROKER = {"bootstrap.servers": os.environ.get("KAFKA", "localhost:9092")}
CONTROL = os.environ.get("CONTROL", "pointsman.control")
VERDICTS = os.environ.get("VERDICTS", "pointsman.verdicts")
SECONDS = 120


def main() -> None:
    message = json.loads(sys.argv[1])
    message["requestId"] = uuid.uuid4().hex

    # Verdicts are written in transactions; read from here on, before the message is sent.
    reader = Consumer({**BROKER, "group.id": "switch-example", "isolation.level": "read_committed"})
    _, end = reader.get_watermark_offsets(TopicPartition(VERDICTS, 0), timeout=10)
    reader.assign([TopicPartition(VERDICTS, 0, end)])

    producer = Producer(BROKER)
    producer.produce(CONTROL, json.dumps(message))
    producer.flush(10)

    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        record = reader.poll(0.5)
        if record is None or record.error():
            continue
        verdict = json.loads(record.value())
        if verdict["requestId"] == message["requestId"]:
            print(json.dumps(verdict))
            sys.exit(0 if verdict["verdict"] in ("applied", "unchanged") else 1)
    sys.exit(f"no verdict within {SECONDS} s; it may still come")


if __name__ == "__main__":
    main()
