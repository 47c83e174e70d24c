"""Stands in for the company's topics: makes them and sends a few rows."""

import json
import os

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

BROKER = {"bootstrap.servers": os.environ.get("KAFKA", "localhost:9092")}
PREFIX = "ccd01_sb_its_esp_tap3507_bishowcase"
ROWS = {
    f"{PREFIX}raw": [{"userId": "u1", "name": "Ada", "age": 36}, {"userId": "u2", "name": "Bo", "age": 52}],
    f"{PREFIX}curated": [{"userId": "u1", "accountType": "current", "balance": 12.5}],
}


def main() -> None:
    admin = AdminClient(BROKER)
    for made in admin.create_topics([NewTopic(topic, 2) for topic in ROWS]).values():
        try:
            made.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
    producer = Producer(BROKER)
    for topic, values in ROWS.items():
        for row in values:
            producer.produce(topic, json.dumps(row), key=row["userId"])
    producer.flush()


if __name__ == "__main__":
    main()
