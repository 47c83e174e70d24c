type=script
scriptType=python
enabled=true
id=kafka-orchestrator
name=Kafka Orchestrator
file_0=orchestrator.py
