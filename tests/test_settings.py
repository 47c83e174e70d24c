"""Settings: who wins, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pointsman import settings
from pointsman.domain.errors import SettingsError
from pointsman.domain.spec import ColumnType, JoinType
from pointsman.settings import Settings

SECRET = "hunter2-hunter2"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder: whatever pointsman.toml lies about here is nobody's business."""
    monkeypatch.chdir(tmp_path)


def load(toml: str = "", flags: dict[str, Any] | None = None, file: str = "pointsman.toml", **env: str) -> Settings:
    if toml:
        Path(file).write_text(toml)
    return settings.load(flags, {f"POINTSMAN_{name}": value for name, value in env.items()})


def refusal(toml: str = "", flags: dict[str, Any] | None = None, **env: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(toml, flags, **env)
    assert caught.value.next_step
    return str(caught.value)


class TestWhoWins:
    def test_without_anything_it_is_users_and_accounts_joined_left(self) -> None:
        spec = load().spec()
        assert [(s.name, s.topic, s.start) for s in spec.sources] == [
            ("users", "users", "earliest"),
            ("accounts", "accounts", "earliest"),
        ]
        assert [c.name for c in spec.output_columns] == ["userId", "name", "email", "age", "accountType", "balance"]
        assert (spec.key, spec.join) == ("userId", JoinType.LEFT)

    def test_flags_beat_the_environment_which_beats_the_file_which_beats_the_default(self) -> None:
        file = "[web]\nport = 1002\n"
        assert load().web.port == 8080
        assert load(file).web.port == 1002
        assert load(file, WEB__PORT="1003").web.port == 1003
        assert load(file, {"web": {"port": 1004}}, WEB__PORT="1003").web.port == 1004

    def test_a_flag_that_was_not_given_and_an_empty_variable_win_nothing(self) -> None:
        assert load("[web]\nport = 1002\n", {"web": {"port": None}}, WEB__PORT="").web.port == 1002

    def test_each_place_changes_only_what_it_names(self) -> None:
        found = load('[web]\nhost = "0.0.0.0"\n', {"web": {"tables_url": "http://t"}}, WEB__PORT="1003").web
        assert (found.host, found.port, found.tables_url) == ("0.0.0.0", 1003, "http://t")

    def test_the_file_may_be_named(self) -> None:
        Path("other.toml").write_text("[web]\nport = 1005\n")
        assert load("[web]\nport = 1002\n", CONFIG="other.toml").web.port == 1005
        assert settings.load(env={}, toml=Path("other.toml")).web.port == 1005

    def test_home_moves_what_is_kept_there(self, tmp_path: Path) -> None:
        assert load().checkpoints == str(tmp_path / ".pointsman" / "checkpoints")
        assert load(HOME="/srv/pm").home == Path("/srv/pm")
        assert load(HOME="/srv/pm").checkpoints == "/srv/pm/checkpoints"
        assert load(HOME="~/pm").home == Path.home() / "pm"
        assert load(HOME="/srv/pm", PIPELINE__CHECKPOINTS="s3a://b/c").checkpoints == "s3a://b/c"

    def test_the_control_topic_follows_the_prefix_unless_it_is_named(self) -> None:
        assert load().control.topic == "pointsman.control"
        assert load(TOPICS__PREFIX="uat.").control.topic == "uat.control"
        assert load(TOPICS__PREFIX="uat.", CONTROL__TOPIC="metadata").control.topic == "metadata"

    def test_variables_that_are_not_settings_are_left_alone(self) -> None:
        """Where jars are, and what Kubernetes adds beside services called pointsman and pointsman-web."""
        load(
            JARS="/opt/jars",
            SERVICE_HOST="10.0.0.1",
            SERVICE_PORT_HTTP="80",
            PORT="tcp://10.0.0.1:80",
            WEB_PORT="tcp://10.0.0.1:80",
            WEB_PORT_80_TCP_ADDR="10.0.0.1",
        )


class TestSources:
    THREE = """
        [sources.users]
        topic = "people"
        [sources.accounts]
        [sources.cards]
        topic = "cards"
        start = "latest"
        columns = {userId = "string", cardNumber = "string", blocked = "boolean"}
    """

    def test_a_file_that_names_sources_names_all_of_them(self) -> None:
        toml = """
            [join]
            key = "id"
            left = "orders"
            [sources.lines]
            topic = "lines"
            columns = {id = "long", sku = "string"}
            [sources.orders]
            topic = "orders"
            columns = {at = "string", id = "long"}
        """
        spec = load(toml).spec()
        assert [s.name for s in spec.sources] == ["orders", "lines"]
        assert [c.name for c in spec.left.columns] == ["id", "at"]
        assert spec.key_column.type is ColumnType.LONG

    def test_three_sources_in_the_order_of_the_file_each_with_its_start(self) -> None:
        spec = load(self.THREE).spec()
        assert [(s.name, s.topic, s.start) for s in spec.sources] == [
            ("users", "people", "earliest"),
            ("accounts", "accounts", "earliest"),
            ("cards", "cards", "latest"),
        ]
        assert [c.name for c in spec.output_columns][-2:] == ["cardNumber", "blocked"]

    def test_the_built_in_pair_lends_what_the_file_leaves_out_and_no_column_beside_those_it_names(self) -> None:
        assert list(load(self.THREE).sources["users"].columns) == ["userId", "name", "email", "age"]
        own = self.THREE.replace("[sources.accounts]", '[sources.accounts]\ncolumns = {userId = "string"}')
        assert list(load(own).sources["accounts"].columns) == ["userId"]

    def test_variables_keep_the_case_of_names_that_are_known(self) -> None:
        found = load(
            self.THREE,
            SOURCES__USERS__TOPIC="people2",
            SOURCES__CARDS__COLUMNS__CARDNUMBER="long",
            SOURCES__CARDS__COLUMNS__validUntil="string",
            SOURCES__CARDS__START="earliest",
        )
        assert found.sources["users"].topic == "people2"
        assert found.sources["cards"].start == "earliest"
        assert found.sources["cards"].columns == {
            "userId": ColumnType.STRING,
            "cardNumber": ColumnType.LONG,
            "blocked": ColumnType.BOOLEAN,
            "validUntil": ColumnType.STRING,
        }

    def test_a_third_source_from_variables_alone_is_the_same_whatever_their_order(self) -> None:
        env = {
            "POINTSMAN_SOURCES__CARDS__TOPIC": "cards",
            "POINTSMAN_SOURCES__CARDS__COLUMNS__userId": "string",
            "POINTSMAN_SOURCES__CARDS__COLUMNS__blocked": "boolean",
        }
        one, other = settings.load(env=env), settings.load(env=dict(reversed(env.items())))
        assert one.spec().fingerprint == other.spec().fingerprint
        assert [s.name for s in one.spec().sources] == ["users", "accounts", "cards"]

    @pytest.mark.parametrize(
        ("start", "position"),
        [
            ("earliest", "earliest"),
            ("latest", "latest"),
            ("2026-01-31T08:00:00Z", 1769846400000),
            ("2026-01-31T09:00:00+01:00", 1769846400000),
            ("2026-01-31T08:00:00", 1769846400000),  # no zone is UTC, on every machine
            ("2026-01-31T08:00:00.250Z", 1769846400250),
            ("2026-01-31", 1769817600000),
        ],
    )
    def test_start_is_a_word_or_a_moment(self, start: str, position: str | int) -> None:
        assert load(SOURCES__USERS__START=start).spec().left.start == position

    def test_a_moment_needs_no_quotes_in_the_file(self) -> None:
        toml = "[sources.users]\nstart = 2026-01-31T08:00:00Z\n[sources.accounts]\nstart = 2026-01-31\n"
        assert [s.start for s in load(toml).spec().sources] == [1769846400000, 1769817600000]

    def test_join_types_are_spelt_as_in_control_messages(self) -> None:
        assert load(JOIN__TYPE="Left_Outer").join.type is JoinType.LEFT
        assert load(JOIN__TYPE="INNER").join.type is JoinType.INNER


class TestSpark:
    def test_its_settings_pass_through_quoted_or_not_and_from_variables(self) -> None:
        toml = """
            [spark.conf]
            "spark.ui.enabled" = true
            spark.executor.cores = 4
        """
        found = load(toml, SPARK__CONF__SPARK_EXECUTOR_MEMORY="3g", SPARK__CONF__spark_executor_memoryOverhead="1g")
        assert found.spark.conf == {
            "spark.ui.enabled": "true",
            "spark.executor.cores": "4",
            "spark.executor.memory": "3g",
            "spark.executor.memoryOverhead": "1g",
        }


FILE = "pointsman.toml"
WRONG = [
    # what is set, the key, where it came from, what is allowed
    ({"toml": "[web]\nprot = 1"}, "web.prot", FILE, "did you mean 'port'?"),
    ({"toml": "[wbe]\nport = 1"}, "wbe", FILE, "allowed are home, kafka, topics, control, sources"),
    ({"toml": "web = 1"}, "web", FILE, "is a group of settings, not a value"),
    ({"toml": "sources = 1"}, "sources", FILE, "is a group of settings, not a value"),
    ({"toml": "[sources]\nusers = 1\n[sources.accounts]"}, "sources.users", FILE, "is a group of settings"),
    ({"toml": "[sources.users]\ntopics = 'x'\n[sources.accounts]"}, "sources.users.topics", FILE, "topic, columns"),
    ({"toml": "[sources.users]"}, "sources", FILE, "at least two are needed, and there is only users"),
    ({"toml": "[web]\nport = '80a'"}, "web.port", FILE, "must be a whole number"),
    ({"flags": {"web": {"port": 70000}}}, "web.port", "a command-line flag", "less than or equal to 65535"),
    ({"WEB__PORT": "0"}, "web.port", "the variable POINTSMAN_WEB__PORT", "greater than or equal to 1"),
    ({"TABLES__CONSOLE": "maybe"}, "tables.console", "the variable POINTSMAN_TABLES__CONSOLE", "true or false"),
    ({"TABLES__HEAP": "lots"}, "tables.heap", "the variable POINTSMAN_TABLES__HEAP", "such as 512m or 2g"),
    ({"toml": "[cutover]\nlinger_seconds = -1"}, "cutover.linger_seconds", FILE, "greater than or equal to 0"),
    ({"flags": {"tables": {"key": 5}}}, "tables.key", "a command-line flag", "must be a text"),
    ({"TABLES__TLS_KEY": "k.pem"}, "tables.tls_key", "__TLS_KEY", "tables.tls_certificate is missing"),
    ({"TABLES__TLS_CERTIFICATE": "c.pem"}, "tables.tls_certificate", "__TLS_CERT", "tables.tls_key is missing"),
    ({"WEB__TLS_KEY": "k.pem"}, "web.tls_key", "__TLS_KEY", "web.tls_certificate is missing"),
    ({"JOIN__TYPE": "cross"}, "join.type", "the variable POINTSMAN_JOIN__TYPE", "'left', 'inner', 'natural', 'right'"),
    ({"JOIN__LEFT": "cards"}, "join.left", "the variable POINTSMAN_JOIN__LEFT", "there are users, accounts"),
    ({"JOIN__KEY": "id"}, "sources.users.columns", "the built-in defaults", "the join key 'id' (join.key)"),
    (
        {"SOURCES__USERS__COLUMNS__AGE": "int"},
        "sources.users.columns.age",
        "the variable POINTSMAN_SOURCES__USERS__COLUMNS__AGE",
        "'string', 'long', 'double' or 'boolean'",
    ),
    (
        {"SOURCES__ACCOUNTS__COLUMNS__USERID": "long"},
        "sources.accounts.columns.userId",
        "the variable POINTSMAN_SOURCES__ACCOUNTS__COLUMNS__USERID",
        "the same type as in sources.users.columns",
    ),
    (
        {"JOIN__KEY": "age", "toml": "[sources.users]\n[sources.accounts]\ncolumns = {age = 'double'}"},
        "sources.accounts.columns.age",
        FILE,
        "must be a string or a long",
    ),
    (
        {"SOURCES__USERS__COLUMNS__a-b": "long"},
        "sources.users.columns",
        "the variable POINTSMAN_SOURCES__USERS__COLUMNS__a-b",
        "'a-b' must be a letter, then letters, digits and '_'",
    ),
    (
        {"toml": "[sources.users]\ncolumns = {userId = 'string', Name = 'long', name = 'long'}\n[sources.accounts]"},
        "sources",
        FILE,
        "source 'users' would have two columns of one name: 'Name' and 'name'",
    ),
    (
        {"SOURCES__USERS__TOPIC": "a,b"},
        "sources.users.topic",
        "the variable POINTSMAN_SOURCES__USERS__TOPIC",
        "1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'",
    ),
    ({"SOURCES__USERS__TOPIC": "__x"}, "sources.users.topic", "__TOPIC", "starting with '__' are not allowed"),
    ({"SOURCES__USERS__TOPIC": "pointsman.x"}, "sources.users.topic", "__TOPIC", "Pointsman's own topics"),
    ({"SOURCES__USERS__START": "yesterday"}, "sources.users.start", "__START", "earliest, latest or an ISO-8601"),
    ({"SOURCES__USERS__START": "1969-12-31"}, "sources.users.start", "__START", "earliest, latest or an ISO-8601"),
    (
        {"SOURCES__FINAL__TOPIC": "x", "SOURCES__FINAL__COLUMNS__USERID": "string"},
        "sources.final",
        "the variable POINTSMAN_SOURCES__FINAL__TOPIC",
        "none of our own names: catalog, control",
    ),
    ({"SOURCES__CARDS__TOPIC": "cards"}, "sources.cards.columns", "__CARDS__TOPIC", "is missing and has no default"),
    ({"TOPICS__PREFIX": "a b"}, "topics.prefix", "the variable POINTSMAN_TOPICS__PREFIX", "1 to 100 of a-z"),
    ({"CONTROL__TOPIC": "pointsman.status"}, "control.topic", "__TOPIC", "is a topic that Pointsman writes"),
    ({"CONTROL__TOPIC": "pointsman.g3.x"}, "control.topic", "__TOPIC", "is a topic that Pointsman writes"),
    ({"CONTROL__TOPIC": "users"}, "control.topic", "__TOPIC", "is a source's topic"),
    ({"CONTROL__TOPIC": "a b"}, "control.topic", "__TOPIC", "1 to 249 of a-z"),
    ({"CONTROL__ALLOW_TOPICS": "("}, "control.allow_topics", "__ALLOW_TOPICS", "must be a regular expression"),
    ({"KAFKA__BOOTSTRAP_SERVERS": "broker"}, "kafka.bootstrap_servers", "__BOOTSTRAP_SERVERS", "HOST:PORT"),
    ({"PIPELINE__MODE": "batch"}, "pipeline.mode", "the variable POINTSMAN_PIPELINE__MODE", "'real-time' or 'micro-"),
    ({"PIPELINE__MODE": "micro-batch", "JOIN__TYPE": "asof"}, "join.type", "__TYPE", "needs pipeline.mode real-time"),
    (
        {"SOURCES__USERS__COLUMNS__eventTime": "long"},
        "sources.users.columns.eventTime",
        "__COLUMNS__eventTime",
        "the tables have a column of that name",
    ),
    ({"SPARK__CONF__X": "1"}, "spark.conf", "the variable POINTSMAN_SPARK__CONF__X", "'x' must start with 'spark.'"),
]


@pytest.mark.parametrize(("given", "key", "origin", "allowed"), WRONG, ids=lambda v: v if isinstance(v, str) else "")
def test_a_wrong_setting_names_its_key_its_origin_and_what_is_allowed(
    given: dict[str, Any], key: str, origin: str, allowed: str
) -> None:
    told = refusal(**given)
    assert told.startswith(f"{key}: ")
    assert allowed in told
    assert origin in told.rsplit("(from ", 1)[1]
    assert "\n" not in told


def test_every_wrong_setting_is_named_at_once() -> None:
    told = refusal("[web]\nport = 0\n[tables]\nport = 0", WEB__HOTS="x").splitlines()
    assert [line.split(":")[0] for line in told] == ["tables.port", "web.port", "web.hots"]


def test_a_variable_with_one_underscore_too_few_is_told_the_right_one() -> None:
    assert refusal(WEB_PORT="80") == "POINTSMAN_WEB_PORT is not a setting; did you mean 'POINTSMAN_WEB__PORT'?"
    assert "names no setting" in refusal(WEB__="80")


def test_a_file_that_is_missing_or_broken_is_named() -> None:
    assert refusal(CONFIG="gone.toml") == (
        "the settings file gone.toml (named by the variable POINTSMAN_CONFIG) does not exist"
    )
    assert "pointsman.toml is not TOML: " in refusal("[web\n")
    Path("pointsman.toml").write_bytes(b"\xff")
    assert "pointsman.toml is not TOML: " in refusal()


@pytest.mark.parametrize(
    "given",
    [
        {"toml": f"[tables]\nkey = ['{SECRET}']"},
        {"toml": f"[tables]\nkey = '{SECRET}"},
        {"toml": f"[web]\noperator_keys = '{SECRET}'"},
        {"TABLES__KEY__X": SECRET},
        {"WEB": SECRET},
        {"SPARK__CONF__PASSWORD": SECRET},
        {"WEB__PORT": SECRET},
        {"flags": {"tables": {"key": [SECRET]}}},
    ],
)
def test_a_secret_is_in_no_error(given: dict[str, Any]) -> None:
    assert SECRET not in refusal(**given)


def test_a_secret_is_not_shown_with_the_settings() -> None:
    found = load(TABLES__KEY=SECRET, WEB__OPERATOR_KEY=SECRET)
    assert SECRET not in f"{found!r} {found} {found.model_dump_json()}"
    assert found.tables.key.get_secret_value() == SECRET
