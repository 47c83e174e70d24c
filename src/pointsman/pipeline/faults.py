"""What a query died of: one sentence for people, and whether starting it again can help."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pointsman.broker.refusals import of_java
from pointsman.domain.errors import PointsmanError
from pointsman.settings import Connection

# Texts of Spark and Kafka that mean: the same checkpoint will fail the same way.
BEYOND_REPAIR = re.compile(
    r"UnknownTopicOrPartition|This server does not host this topic|KAFKA_DATA_LOSS|data loss|"
    r"Some data may have been lost|STATE_STORE_.*(CHECKSUM|CANNOT_LOAD)|CANNOT_LOAD_STATE_STORE|"
    r"Partition .* offset was changed|are gone|SparkConcurrentModification|Incompatible|STREAMING_CHECKPOINT|"
    r"FAILED_READ_CHECKPOINT|malformed|CANNOT_RESTORE|Error reading delta file|batch files are missing|"
    r"INVALID_LOG_VERSION",
    re.IGNORECASE,
)
# Being turned away is not: whatever else a provider's or broker's answer may say of itself.
PASSES = re.compile(r"SaslAuthentication|SslAuthentication|LoginException|OAuthBearer")


def beyond_repair(error: BaseException) -> bool:
    said = str(error)
    return bool(BEYOND_REPAIR.search(said)) and not PASSES.search(said)


def explained(error: BaseException, clusters: Iterable[Connection]) -> str:
    """As `sentence`, and what to do about it where that is known: of our own errors, and of a token that is missing."""
    known = error if isinstance(error, PointsmanError) else of_java("a query died", str(error), clusters)
    if known is None:
        return sentence(error)
    return f"{known}; next: {known.next_step}" if known.next_step else str(known)


def sentence(error: BaseException) -> str:
    """The line that says most: the last cause that is named, without Spark's query dump."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:") or "Exception:" in line]
    chosen = (causes or lines or [type(error).__name__])[-1 if causes else 0]
    return chosen.removeprefix("Caused by:").strip()[:400]
