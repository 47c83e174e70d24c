"""The join in Flink SQL, in Flink's own environment: upsert-kafka sources, left join, upsert-kafka sink, RocksDB.

Imports nothing of this project: it runs under the Python of build/bench-peers. Says `open` when the job is submitted.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def tables(options: dict[str, Any]) -> list[str]:
    """The two sources and the sink."""
    connection = f"""'connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '{options["broker"]}',
        'key.format' = 'raw', 'value.format' = 'json', 'properties.group.id' = 'bench-flink'"""
    producer = ", ".join(f"'properties.{key}' = '{value}'" for key, value in options["producer"].items())
    key = "PRIMARY KEY (userId) NOT ENFORCED"
    return [
        f"""CREATE TABLE users (userId STRING, name STRING, email STRING, age BIGINT, {key})
            WITH ({connection}, 'topic' = '{options["users"]}')""",
        f"""CREATE TABLE accounts (userId STRING, accountType STRING, balance DOUBLE, {key})
            WITH ({connection}, 'topic' = '{options["accounts"]}')""",
        f"""CREATE TABLE final (
              userId STRING, name STRING, email STRING, age BIGINT, accountType STRING, balance DOUBLE, {key})
            WITH ({connection}, 'topic' = '{options["output"]}', {producer})""",
    ]


JOIN = """INSERT INTO final
    SELECT u.userId, u.name, u.email, u.age, a.accountType, a.balance
    FROM users AS u LEFT JOIN accounts AS a ON u.userId = a.userId"""


def main() -> None:
    from pyflink.common import Configuration  # type: ignore[import-not-found]
    from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

    options = json.loads(sys.argv[1])
    configuration = Configuration()
    for name, value in options["config"].items():
        configuration.set_string(name, value)
    environment = TableEnvironment.create(
        EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    )
    for statement in tables(options):
        environment.execute_sql(statement)
    job = environment.execute_sql(JOIN).get_job_client()
    print(json.dumps({"event": "open", "at": time.time(), "job": str(job.get_job_id())}), flush=True)
    for _ in sys.stdin:
        pass
    job.cancel().result()


if __name__ == "__main__":
    main()
