"""The real processes on the secured broker, each told its secrets in another way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from pointsman.broker import clients
from pointsman.broker.embedded import free_port
from pointsman.broker.newest import newest_catalog
from pointsman.broker.topics import TopicAdmin
from pointsman.domain.catalog import Catalog
from pointsman.settings import Settings
from tests.pipeline.conftest import Bench
from tests.pipeline.feed import random_feed
from tests.secured.broker import SecuredBroker
from tests.tables.stage import TablesProcess

POINTSMAN = str(Path(sys.executable).with_name("pointsman"))
SECRET_NAMES = ("password", "client_secret", "key_password", "key", "operator_key")
KEY_PASSWORD, VIEWER_KEY, OPERATOR_KEY = "canaryKeyFile27d9", "canaryViewer8e31", "canaryOperator5c60"


class SecuredLine:
    """Three users on one broker: the wrong one for a topic is turned away, so what works was asked of the right one.

    The pipeline reads sources as the first user, has its own topics as the second and the control topic as the third.
    The tables server reads what the pipeline writes as the first: it may not write there.
    """

    def __init__(self, secured: SecuredBroker, settings: Settings, folder: Path, users: tuple[str, str, str]) -> None:
        self.secured, self.folder = secured, folder
        self.everything = settings.model_copy(update={"kafka": secured.superuser})
        self.bench = Bench(
            self.everything, TopicAdmin(self.everything), clients.producer(secured.superuser), cast(Any, None)
        )
        self.bench.make_topics(2)
        sources, own, control = users
        mine = secured.authority.sign("line")  # nobody asks for it here; clients read the key, and so its password
        self.web_port = free_port()
        self.variables = {
            "POINTSMAN_KAFKA__SSL__CERT_FILE": str(mine.cert),
            "POINTSMAN_KAFKA__SSL__KEY_FILE": str(secured.authority.encrypt(mine, KEY_PASSWORD)),
            "POINTSMAN_KAFKA__SSL__KEY_PASSWORD": KEY_PASSWORD,
            "POINTSMAN_TABLES__KEY": VIEWER_KEY,
            "POINTSMAN_WEB__OPERATOR_KEY": OPERATOR_KEY,
            "POINTSMAN_WEB__PORT": str(self.web_port),
            "POINTSMAN_HOME": str(folder),
            "POINTSMAN_TOPICS__PREFIX": settings.topics.prefix,
            "POINTSMAN_CONTROL__TOPIC": settings.control.topic,
            "POINTSMAN_SOURCES__USERS__TOPIC": settings.sources["users"].topic,
            "POINTSMAN_SOURCES__ACCOUNTS__TOPIC": settings.sources["accounts"].topic,
            "POINTSMAN_SPARK__DRIVER_MEMORY": "1g",
            "POINTSMAN_SPARK__CONF__spark_eventLog_enabled": "true",
            "POINTSMAN_SPARK__CONF__spark_eventLog_dir": f"file://{folder}",
            "POINTSMAN_SPARK__CONF__spark_eventLog_compress": "false",
            "POINTSMAN_SPARK__CONF__spark_eventLog_rolling_enabled": "false",
        }
        self.pipeline_logins = {"": sources, "INTERNAL__": own, "CONTROL__": control}
        self.tables_logins = {"": sources, "CONTROL__": control}
        self._allow(sources, own, control)
        self.processes: list[TablesProcess] = []

    def _allow(self, sources: str, own: str, control: str) -> None:
        """What docs/how-to/secured-kafka.md says is needed, and nothing more."""
        settings, allow = self.everything, self.secured.allow
        prefix = settings.topics.prefix
        for source in settings.sources.values():
            allow(sources, "TOPIC", source.topic, "READ", "DESCRIBE")
        allow(own, "TOPIC", prefix, "CREATE", "DELETE", "DESCRIBE", "READ", "WRITE", prefixed=True)
        allow(own, "TRANSACTIONAL_ID", prefix, "DESCRIBE", "WRITE", prefixed=True)
        allow(control, "TOPIC", settings.control.topic, "DESCRIBE", "READ", "WRITE")
        allow(sources, "TOPIC", prefix, "DESCRIBE", "READ", prefixed=True)
        allow(sources, "TOPIC", settings.names.tables, "WRITE")

    def feed(self, seed: int) -> None:
        self.bench.send(random_feed(seed, 200, partitions=2))

    def environment(self, logins: Mapping[str, str]) -> dict[str, str]:
        found = dict(self.variables)
        for place, user in logins.items():
            found |= _variables(self.secured.login(user), f"POINTSMAN_KAFKA__{place}")
        return found

    def start(self, verb: str, logins: Mapping[str, str], way: str = "variable") -> TablesProcess:
        folder = self.folder / verb
        folder.mkdir(exist_ok=True)
        secrets = self.folder.parent / f"{self.folder.name}-secrets-{verb}"  # no part of what is searched
        env = told(self.environment(logins), way, secrets)
        env = {"POINTSMAN_TABLES__KEY": "", **env, "POINTSMAN_HOME": str(folder)}
        process = TablesProcess(self.everything, folder, [POINTSMAN, verb], env)
        self.processes.append(process)
        return process

    def command(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs `pointsman …` as a person would, as the pipeline's users."""
        env = {**os.environ, **self.environment(self.pipeline_logins), **variables}
        return subprocess.run(
            [POINTSMAN, *words], env=env, cwd=self.folder, capture_output=True, text=True, timeout=180, check=False
        )

    def switch(self, *words: str) -> dict[str, Any]:
        done = self.command("switch", *words, "--wait", "--json")
        assert done.stdout, done.stderr
        verdict: dict[str, Any] = json.loads(done.stdout)
        return verdict

    def ask_page(self, path: str, body: dict[str, Any] | None = None, key: str = "") -> tuple[int, bytes]:
        """What the page answers: status, headers and body."""
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"http://127.0.0.1:{self.web_port}{path}", data, headers)
        try:
            with urlopen(request, timeout=60) as answer:
                return answer.status, str(answer.headers).encode() + answer.read()
        except HTTPError as refused:
            with refused:
                return refused.code, str(refused.headers).encode() + refused.read()

    def catalog(self) -> Catalog:
        return newest_catalog(self.everything, self.bench.admin) or Catalog()

    def close(self) -> None:
        for process in self.processes:
            process.kill()


def _variables(kafka: Mapping[str, Any], prefix: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in kafka.items():
        if name == "extensions":
            found |= {f"{prefix}EXTENSIONS__{key}": text for key, text in value.items()}
        elif isinstance(value, Mapping):
            found |= _variables(value, f"{prefix}{name.upper()}__")
        else:
            found[f"{prefix}{name.upper()}"] = str(value)
    return found


def told(variables: Mapping[str, str], way: str, folder: Path) -> dict[str, str]:
    """The same, with secrets in variables, in files that are named, or in a folder of files."""
    folder.mkdir(exist_ok=True)
    found = {}
    for variable, value in variables.items():
        if way == "variable" or not variable.endswith(tuple(f"__{name.upper()}" for name in SECRET_NAMES)):
            found[variable] = value
            continue
        path = folder / variable.removeprefix("POINTSMAN_").replace("__", ".").lower()
        path.write_text(value + "\n")
        if way == "file":
            found[f"{variable}_FILE"] = str(path)
    return found | ({"POINTSMAN_SECRETS_DIR": str(folder)} if way == "folder" else {})
