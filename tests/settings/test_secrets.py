"""Secrets: the three ways in, the one that is barred, and that none of them is ever printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from pointsman.settings import Settings
from pointsman.settings.secrets import secret_keys, way
from tests.settings.conftest import Load, Refusal

CANARY = "canary-7f3a9c"
BASE = '[kafka]\nsecurity_protocol = "SASL_SSL"\n[kafka.sasl]\nuser = "me"\n'
KEYS = sorted(secret_keys(Settings))


def password(found: Settings) -> str:
    return found.kafka.sasl.password.get_secret_value()


def test_every_secret_is_known_for_one() -> None:
    assert {"kafka.sasl.password", "kafka.oidc.client_secret", "kafka.ssl.key_password"} <= set(KEYS)
    assert {"kafka.internal.sasl.password", "kafka.control.oidc.client_secret"} <= set(KEYS)
    assert {"tables.key", "web.operator_key"} <= set(KEYS)


def test_a_secret_comes_from_a_variable_a_named_file_or_a_folder_in_this_order(load: Load, tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "kafka.sasl.password").write_text("from the folder\n")
    (tmp_path / "named").write_text("from the named file\r\n")
    folder = {"SECRETS_DIR": str(tmp_path / "secrets")}
    assert password(load(BASE, **folder)) == "from the folder"
    assert password(load(BASE, **folder, KAFKA__SASL__PASSWORD_FILE="named")) == "from the named file"
    assert password(load(BASE, **folder, KAFKA__SASL__PASSWORD="from a variable")) == "from a variable"
    assert password(load(BASE + 'password_file = "named"\n')) == "from the named file"
    assert password(load(BASE + 'password_file = "named"\n', **folder)) == "from the folder"


def test_blanks_inside_and_around_a_secret_are_part_of_it(load: Load, tmp_path: Path) -> None:
    (tmp_path / "named").write_text("  a b \n")
    assert password(load(BASE, KAFKA__SASL__PASSWORD_FILE="named")) == "  a b "


@pytest.mark.parametrize("key", KEYS)
def test_a_secret_in_the_settings_file_is_refused_with_the_way_to_do_it_right(key: str, refusal: Refusal) -> None:
    section, _, name = key.rpartition(".")
    error = refusal(f'[{section}]\n{name} = "{CANARY}"\n')
    assert str(error) == f"{key}: is a secret, and pointsman.toml is no place for one"
    assert way(key) in error.next_step
    assert CANARY not in f"{error}{error.next_step}{error!r}"


@pytest.mark.parametrize("key", KEYS)
def test_the_way_that_is_told_works(key: str, load: Load) -> None:
    variable = way(key).split("the variable POINTSMAN_")[1].split(",")[0]
    found: object = load(
        f"{BASE}[kafka.control]\n[kafka.internal]\n", **{"KAFKA__SASL__PASSWORD": "x", variable: CANARY}
    )
    for name in key.split("."):
        found = getattr(found, name)
    assert getattr(found, "get_secret_value")() == CANARY  # noqa: B009 the type is not known here


@pytest.mark.parametrize(
    ("env", "told"),
    [
        (
            {"KAFKA__SASL__PASSWORD_FILE": "gone"},
            "kafka.sasl.password_file: the file gone cannot be read: No such file",
        ),
        ({"KAFKA__SASL__PASSWORD_FILE": "empty"}, "the file empty is empty"),
        ({"KAFKA__SASL__PASSWORD_FILE": "large"}, "the file large is too large"),
        ({"KAFKA__SASL__PASSWORD_FILE": "binary"}, "the file binary is not UTF-8"),
        ({"SECRETS_DIR": "gone"}, "POINTSMAN_SECRETS_DIR: the folder gone does not exist"),
        (
            {"KAFKA__SASL__PASSWORD_FILE": "empty", "KAFKA__SASL__PASSWORD": "x"},
            "POINTSMAN_KAFKA__SASL__PASSWORD_FILE and POINTSMAN_KAFKA__SASL__PASSWORD are both set",
        ),
    ],
)
def test_a_file_that_holds_no_secret_is_named(env: dict[str, str], told: str, refusal: Refusal, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "large").write_text("x" * 70_000)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert told in str(refusal(BASE, **env))


def test_a_secret_is_in_no_repr_no_json_and_no_error(load: Load) -> None:
    variables = {way(key).split("the variable POINTSMAN_")[1].split(",")[0]: CANARY for key in KEYS}
    found = load(f"{BASE}[kafka.control]\n[kafka.internal]\n", **variables)
    shown = f"{found!r} {found} {found.model_dump_json()} {found.model_dump()} {found.kafka!r} {found.kafka.sasl}"
    assert CANARY not in shown
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"kafka": {"sasl": {"password": [CANARY]}, "oidc": CANARY, CANARY[:3]: CANARY}})
    assert CANARY not in f"{caught.value}{caught.value!r}"


def test_settings_that_were_printed_and_read_again_say_that_their_secrets_are_gone(load: Load) -> None:
    printed = load(BASE, KAFKA__SASL__PASSWORD=CANARY).model_dump_json()
    with pytest.raises(ValidationError, match="row of asterisks"):
        Settings.model_validate_json(printed)
    assert CANARY not in printed


def test_a_secret_among_spark_s_settings_is_refused(refusal: Refusal) -> None:
    told = str(refusal("", SPARK__CONF__SPARK_AUTHENTICATE_SECRET=CANARY))
    assert "'spark.authenticate.secret' is a secret: put it into a spark-defaults.conf" in told
    assert CANARY not in told


def test_what_is_printed_is_json_that_names_what_is_hidden(load: Load) -> None:
    shown = json.loads(load(BASE, KAFKA__SASL__PASSWORD=CANARY).model_dump_json())
    assert set(shown["kafka"]["sasl"]["password"]) == {"*"}
