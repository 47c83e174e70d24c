"""Settings: flags > environment > pointsman.toml > built-in defaults, validated once into types.

`load()` is the only way in. Its errors name the key, where the value came from and what is allowed, and never
the value of a secret.
"""

from pointsman.settings.kafka import Connection as Connection
from pointsman.settings.kafka import Kafka as Kafka
from pointsman.settings.kafka import Mechanism as Mechanism
from pointsman.settings.kafka import Protocol as Protocol
from pointsman.settings.load import load as load
from pointsman.settings.model import Settings as Settings
from pointsman.settings.sections import Control as Control
from pointsman.settings.sections import Cutover as Cutover
from pointsman.settings.sections import Join as Join
from pointsman.settings.sections import Pipeline as Pipeline
from pointsman.settings.sections import SourceSettings as SourceSettings
from pointsman.settings.sections import Spark as Spark
from pointsman.settings.sections import Tables as Tables
from pointsman.settings.sections import Topics as Topics
from pointsman.settings.sections import Web as Web
