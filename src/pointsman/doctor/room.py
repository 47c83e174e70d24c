"""Whether Spark has room for a generation."""

from __future__ import annotations

from pointsman.broker import reach
from pointsman.broker.topics import TopicAdmin
from pointsman.doctor import findings
from pointsman.doctor.findings import Finding
from pointsman.domain.errors import BrokerError
from pointsman.pipeline import slots
from pointsman.settings import Settings


def examine(settings: Settings) -> Finding:
    try:
        reach.require(settings)
        topics = TopicAdmin(settings).existing()
    except BrokerError:
        return findings.skipped("spark slots", "the broker does not say how many partitions there are")
    partitions = sum(topics.get(source.topic, 0) for source in settings.sources.values())
    state = settings.pipeline.shuffle_partitions
    wanted = slots.needed(partitions, state)
    master = settings.spark.master or slots.local_master(partitions, state)
    if settings.pipeline.mode == "micro-batch":
        return findings.ok("spark slots", f"{master}: micro-batches need no slot of their own")
    if not master.startswith("local["):
        says = f"{master}: a generation needs {wanted} slots, two while one replaces another"
        return findings.ok("spark slots", says)
    found = master.removeprefix("local[").partition("]")[0].partition(",")[0]
    if found.isdigit() and int(found) < 2 * wanted:
        says = f"{master} has room for {found} tasks; a generation needs {wanted}, and a switch has two of them"
        return findings.problem("spark slots", says, f"leave spark.master out, or set it to local[{4 * wanted}]")
    return findings.ok("spark slots", f"{master}: a generation needs {wanted}")
