"""Makes the topics `users` and `accounts` and sends a few rows, or the one that the command line names."""

import json
import os
import sys

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

BROKER = {"bootstrap.servers": os.environ.get("KAFKA", "localhost:9092")}
ROWS = {
    "users": [
        {"userId": "u1", "name": "Ada", "email": "ada@example.org", "age": 36},
        {"userId": "u2", "name": "Bo", "email": "bo@example.org", "age": 52},
    ],
    "accounts": [{"userId": "u1", "accountType": "current", "balance": 12.5}],
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
    rows = {sys.argv[1]: [json.loads(sys.argv[2])]} if len(sys.argv) == 3 else ROWS
    for topic, values in rows.items():
        for row in values:
            producer.produce(topic, json.dumps(row), key=row["userId"])
    producer.flush()


if __name__ == "__main__":
    main()
