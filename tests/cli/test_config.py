"""`config show`, `init` and `topics`: the settings as they are, and a file to begin with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from pointsman import settings
from pointsman.broker import clients
from pointsman.broker.topics import TopicAdmin, TopicPlan
from pointsman.cli import app
from pointsman.domain.errors import EnvironmentProblem, PipelineError
from pointsman.settings import Settings


def pointsman(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class TestShow:
    def test_every_value_is_shown_with_its_origin(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("pointsman.toml").write_text('[join]\ntype = "inner"\n')
        monkeypatch.setenv("POINTSMAN_WEB__PORT", "8181")
        shown = pointsman("config", "show", "--origin").output
        assert re.search(r'^join\.type = "inner" +# pointsman\.toml$', shown, re.MULTILINE)
        assert re.search(r"^web\.port = 8181 +# the variable POINTSMAN_WEB__PORT$", shown, re.MULTILINE)
        assert re.search(r'^join\.key = "userId" +# the built-in defaults$', shown, re.MULTILINE)
        assert re.search(r'^sources\.users\.columns\.age = "long" +# the built-in defaults$', shown, re.MULTILINE)

    def test_secrets_are_masked_in_every_form(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("POINTSMAN_TABLES__KEY", "hunter2-viewer")
        monkeypatch.setenv("POINTSMAN_KAFKA__SASL__PASSWORD", "hunter2-kafka")
        for words in ([], ["--origin"], ["--json"], ["--origin", "--json"]):
            shown = pointsman("config", "show", *words)
            assert shown.exit_code == 0
            assert "hunter2" not in shown.output
            assert shown.output.count("**********") == 2

    def test_json_is_one_object(self) -> None:
        plain: dict[str, Any] = json.loads(pointsman("config", "show", "--json").output)
        assert plain["kafka.bootstrap_servers"] == "localhost:9092"
        both = json.loads(pointsman("config", "show", "--json", "--origin").output)
        assert both["web.port"] == {"value": 8080, "origin": "the built-in defaults"}
        assert set(both) == set(plain)


class TestInit:
    def test_the_file_says_what_is_true_without_it(self) -> None:
        before = settings.load(env={})
        assert pointsman("init").exit_code == 0
        assert settings.load(env={}) == before

    def test_each_commented_line_may_be_commented_in_and_changes_nothing(self) -> None:
        before = settings.load(env={})
        pointsman("init")
        file = Path("pointsman.toml")
        inside = re.sub(r"^#(\w+ = )", r"\1", file.read_text(), flags=re.MULTILINE)
        assert inside.count("\n#") < file.read_text().count("\n#") - 20
        file.write_text(inside)
        assert settings.load(env={}) == before

    def test_a_file_that_is_there_is_left_alone_unless_forced(self) -> None:
        Path("pointsman.toml").write_text("# mine\n")
        assert isinstance(pointsman("init").exception, EnvironmentProblem)
        assert Path("pointsman.toml").read_text() == "# mine\n"
        assert pointsman("init", "--force").exit_code == 0
        assert "[kafka]" in Path("pointsman.toml").read_text()

    def test_a_broker_that_is_named_is_in_the_file(self) -> None:
        pointsman("init", "--broker", "kafka.example.org:9093")
        assert settings.load(env={}).kafka.bootstrap_servers == "kafka.example.org:9093"

    def test_no_secret_has_a_place_in_the_file(self) -> None:
        pointsman("init")
        text = Path("pointsman.toml").read_text()
        sections = dict(re.findall(r"^\[(\w+)\]\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL))
        assert not re.search(r"^#?key =", sections["tables"], re.MULTILINE)
        assert not re.search(r"^#?operator_key =", sections["web"], re.MULTILINE)
        assert "Secret: set POINTSMAN_TABLES__KEY" in text


@pytest.mark.broker
class TestFromTopics:
    @pytest.fixture
    def topics(self, live_settings: Settings) -> dict[str, str]:
        """Two topics with a few records each."""
        names = {name: source.topic for name, source in live_settings.sources.items()}
        TopicAdmin(live_settings).ensure(TopicPlan(topic, 2) for topic in names.values())
        producer = clients.producer(live_settings.kafka)
        rows: dict[str, list[Any]] = {
            "users": [{"cif": 1, "full-name": "Ada", "vip": True, "score": 1}, {"cif": 2, "score": 1.5}, "[]", "{"],
            "accounts": [{"cif": 1, "iban": "X", "opened": None, "generation": 3}],
        }
        for name, topic in names.items():
            for row in rows[name]:
                producer.produce(topic, row if isinstance(row, str) else json.dumps(row))
        assert producer.flush(10) == 0
        return names

    def test_columns_and_key_are_read_off_the_records(self, live_settings: Settings, topics: dict[str, str]) -> None:
        words = [f"--from-topic={name}={topic}" for name, topic in topics.items()]
        done = pointsman("init", *words, "--broker", live_settings.kafka.bootstrap_servers)
        assert done.exit_code == 0, done.output
        loaded = settings.load(env={})
        assert {n: s.topic for n, s in loaded.sources.items()} == topics
        assert {n: str(t) for n, t in loaded.sources["users"].columns.items()} == {
            "cif": "long",
            "vip": "boolean",
            "score": "double",
        }
        assert {n: str(t) for n, t in loaded.sources["accounts"].columns.items()} == {
            "cif": "long",
            "iban": "string",
            "opened": "string",
        }
        assert (loaded.join.key, loaded.join.left) == ("cif", "users")
        text = Path("pointsman.toml").read_text()
        assert "left out: 'full-name', which is not a letter" in text
        assert "left out: 'generation', which the tables have a column of that name themselves" in text

    def test_one_topic_alone_is_not_a_join(self, live_settings: Settings, topics: dict[str, str]) -> None:
        broker = live_settings.kafka.bootstrap_servers
        done = pointsman("init", f"--from-topic=x={topics['users']}", "--broker", broker)
        assert done.exit_code == 2
        assert "a join needs two sources" in done.output
        shared = pointsman("init", f"--from-topic=users={topics['users']}", "--broker", broker)
        assert isinstance(shared.exception, PipelineError)  # the built-in accounts have no cif

    def test_topics_are_listed_with_their_size(
        self, live_settings: Settings, topics: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("POINTSMAN_KAFKA__BOOTSTRAP_SERVERS", live_settings.kafka.bootstrap_servers)
        monkeypatch.setenv("POINTSMAN_SOURCES__USERS__TOPIC", topics["users"])
        found = {t["name"]: t for t in json.loads(pointsman("topics", "--json").output)["topics"]}
        assert found[topics["users"]] == {"name": topics["users"], "partitions": 2, "records": 4}
        shown = pointsman("topics").output
        assert re.search(rf"^{re.escape(topics['users'])} +2 partitions +4 records  source users$", shown, re.MULTILINE)
