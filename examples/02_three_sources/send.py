"""Makes the topics of a small bank and sends a few rows."""

import json
import os

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

BROKER = {"bootstrap.servers": os.environ.get("KAFKA", "localhost:9092")}
ROWS = {
    "bank.customers": [
        {"customerId": 1, "name": "Ada"},
        {"customerId": 2, "name": "Bo"},
        {"customerId": 3, "name": "Cy"},
    ],
    "bank.accounts": [
        {"customerId": 1, "balance": 10.0, "since": "2019"},
        {"customerId": 2, "balance": 20.0, "since": "2020"},
    ],
    "bank.cards": [{"customerId": 1, "limit": 500.0, "blocked": False, "since": "2021"}],
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
            producer.produce(topic, json.dumps(row), key=str(row["customerId"]))
    producer.flush()


if __name__ == "__main__":
    main()
