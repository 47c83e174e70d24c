"""What a query died of: one sentence for people, and whether starting it again can help."""

from __future__ import annotations

import re

# Texts of Spark and Kafka that mean: the same checkpoint will fail the same way.
BEYOND_REPAIR = re.compile(
    r"UnknownTopicOrPartition|This server does not host this topic|KAFKA_DATA_LOSS|data loss|"
    r"Some data may have been lost|STATE_STORE_.*(CHECKSUM|CANNOT_LOAD)|CANNOT_LOAD_STATE_STORE|"
    r"Partition .* offset was changed|are gone|SparkConcurrentModification|Incompatible|STREAMING_CHECKPOINT|"
    r"FAILED_READ_CHECKPOINT|malformed|CANNOT_RESTORE|Error reading delta file|batch files are missing|"
    r"INVALID_LOG_VERSION",
    re.IGNORECASE,
)


def beyond_repair(error: BaseException) -> bool:
    return bool(BEYOND_REPAIR.search(str(error)))


def sentence(error: BaseException) -> str:
    """The line that says most: the last cause that is named, without Spark's query dump."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:") or "Exception:" in line]
    chosen = (causes or lines or [type(error).__name__])[-1 if causes else 0]
    return chosen.removeprefix("Caused by:").strip()[:400]
