"""Where settings come from, and how a wrong one is told: its key, its origin and what is allowed.

Values are laid over one another in order of precedence, and for every key the place that won is remembered.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from pointsman.domain.control import did_you_mean
from pointsman.domain.errors import SettingsError
from pointsman.settings import secrets
from pointsman.settings.model import Settings
from pointsman.settings.sections import Misfit, SourceSettings

ENV_PREFIX = "POINTSMAN_"
ENV_FILE = "POINTSMAN_CONFIG"  # names the toml file
NOT_SETTINGS = frozenset({ENV_FILE, secrets.FOLDER, "POINTSMAN_JARS"})
SECRETS = frozenset(secrets.secret_keys(Settings))
CHOSEN_NAMES = ("conf", "properties")  # groups whose names have dots of their own
TOML = "pointsman.toml"
REFERENCE = "see docs/reference/settings.md for every key"
# What Kubernetes puts into a pod beside a service that is called pointsman or pointsman-something.
SERVICE_LINK = re.compile(r"POINTSMAN_([A-Z0-9_]*_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)")

# For what the validator would say of types, in the words of whoever writes the file.
PLAIN_WORDS = {
    "missing": "is missing and has no default",
    "string_type": "must be a text",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "model_type": "is a group of settings, not a value",
    "dict_type": "is a group of settings, not a value",
}

DEFAULT_SOURCES: dict[str, dict[str, Any]] = {
    "users": {
        "topic": "users",
        "columns": {"userId": "string", "name": "string", "email": "string", "age": "long"},
    },
    "accounts": {
        "topic": "accounts",
        "columns": {"userId": "string", "accountType": "string", "balance": "double"},
    },
}


def load(
    flags: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    toml: Path | None = None,
) -> Settings:
    """Settings from all places, or SettingsError. `flags` is nested like the toml file; None is not given."""
    gathered = gather(flags or {}, os.environ if env is None else env, toml)
    try:
        return Settings.model_validate(gathered.values)
    except ValidationError as error:
        raise SettingsError(_explain(error, gathered), REFERENCE) from None


@dataclass
class Gathered:
    """Raw values, nested like the toml file, and for every key (`join.type`) the place that it came from."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def lay(self, values: Mapping[str, Any], origin: str) -> None:
        """Lays these values over what is there."""
        _lay(self.values, values, origin, self.origins, "")

    def lay_with_files(self, values: Mapping[str, Any], origin: str) -> None:
        """The same, with the contents of the files that secrets are said to be in."""
        found = list(secrets.from_files(values, SECRETS, origin))
        self.lay(secrets.without_files(values, SECRETS), origin)
        for key, secret, where in found:
            self.lay(secrets.nested(key.split("."), secret), where)

    def origin(self, key: str) -> str:
        """Of the key, or of the nearest group above it; a group came from the last place that changed it."""
        parts = key.split(".")
        above = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
        return next((self.origins[k] for k in above if k in self.origins), "the built-in defaults")


def gather(flags: Mapping[str, Any], env: Mapping[str, str], toml: Path | None) -> Gathered:
    """Not validated yet; raises SettingsError where a file cannot be read or a variable cannot be placed."""
    gathered = Gathered()
    from_file, path = _read_file(env, toml)
    gathered.lay({"sources": _defaults_beside(from_file.get("sources"))}, "the built-in defaults")
    secrets.refuse_in_file(from_file, SECRETS, path)
    gathered.lay_with_files(from_file, str(path))
    if env.get(secrets.FOLDER):
        for key, secret, origin in secrets.from_folder(Path(env[secrets.FOLDER]), SECRETS):
            gathered.lay(secrets.nested(key.split("."), secret), origin)
    _lay_variables(gathered, env)
    gathered.lay_with_files(flags, "a command-line flag")
    return gathered


def _lay_variables(gathered: Gathered, env: Mapping[str, str]) -> None:
    placed: dict[str, str] = {}
    for variable, value in sorted(env.items()):
        if _is_setting(variable, value):
            names = _place(variable, gathered.values)
            secret = ".".join(names).removesuffix(secrets.FILE_SUFFIX)
            if secret in SECRETS and secret in placed:
                raise SettingsError(f"{variable} and {placed[secret]} are both set", "leave one of them out")
            placed[secret] = variable
            gathered.lay_with_files(secrets.nested(names, value), f"the variable {variable}")


def _defaults_beside(sources: Any) -> dict[str, Any]:
    """A file that names sources names all of them; the built-in pair lends it what it leaves out of that pair."""
    if not isinstance(sources, Mapping):
        return deepcopy(DEFAULT_SOURCES)
    found = {name: dict(DEFAULT_SOURCES[name]) for name in sources if name in DEFAULT_SOURCES}
    for name, source in found.items():
        if isinstance(sources[name], Mapping) and "columns" in sources[name]:
            del source["columns"]
    return found


def _read_file(env: Mapping[str, str], toml: Path | None) -> tuple[dict[str, Any], Path]:
    named = toml or (Path(env[ENV_FILE]) if env.get(ENV_FILE) else None)
    path = named or Path(TOML)
    if not path.is_file():
        if not named:
            return {}, path
        by = "" if toml else f" (named by the variable {ENV_FILE})"
        raise SettingsError(f"the settings file {path}{by} does not exist", "check the path, or leave it out")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")), path
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}", f"mend {path}") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}", f"make {path} readable") from error


def _lay(into: dict[str, Any], values: Mapping[str, Any], origin: str, origins: dict[str, str], at: str) -> None:
    for name, value in values.items():
        key = f"{at}{name}"
        if isinstance(value, Mapping):
            if not isinstance(into.get(name), dict):
                into[name] = {}
            origins[key] = origin
            _lay(into[name], value, origin, origins, f"{key}.")
        elif value is not None:
            into[name] = value
            origins[key] = origin


def _is_setting(variable: str, value: str) -> bool:
    """An empty variable is like none. Kubernetes' own are passed over: nobody has set them."""
    if not value or not variable.startswith(ENV_PREFIX) or variable in NOT_SETTINGS:
        return False
    return not SERVICE_LINK.fullmatch(variable) and not (variable.endswith("PORT") and "://" in value)


def _place(variable: str, values: Mapping[str, Any]) -> list[str]:
    """The key that a variable sets: POINTSMAN_SOURCES__USERS__TOPIC is sources.users.topic."""
    names: list[str] = []
    node: Any = values
    for part in variable.removeprefix(ENV_PREFIX).split("__"):
        spelling = part.lower() if part.isupper() else part
        if names and names[-1] in CHOSEN_NAMES and names[0] in ("spark", "kafka"):
            spelling = spelling.replace("_", ".")
        known = {name.lower(): name for name in (*node, *_fields(names))} if isinstance(node, Mapping) else {}
        names.append(known.get(spelling.lower(), spelling))
        node = node.get(names[-1], {}) if isinstance(node, Mapping) else {}
    if not all(names):
        raise SettingsError(f"{variable} names no setting: two '__' stand beside each other or at an end", REFERENCE)
    if names[0] not in Settings.model_fields:
        meant = {f"{ENV_PREFIX}{key.replace('.', '__').upper()}" for key in _keys()}
        raise SettingsError(f"{variable} is not a setting{did_you_mean(variable, sorted(meant))}", REFERENCE)
    return names


def _fields(names: list[str]) -> list[str]:
    """The settings that may stand below these names; none where names are the user's to choose."""
    model: type[BaseModel] = Settings
    for name in names:
        if names[0] == "sources":
            return list(SourceSettings.model_fields) if len(names) == 2 else []
        kind = secrets.group(model.model_fields[name].annotation) if name in model.model_fields else None
        if kind is None:
            return []
        model = kind
    return list(model.model_fields)


def _keys(*above: str) -> list[str]:
    """Every setting that has a fixed name, as `section.key`."""
    found: list[str] = []
    for name in _fields(list(above)):
        found += _keys(*above, name) if _fields([*above, name]) else [".".join((*above, name))]
    return found


def _explain(error: ValidationError, gathered: Gathered) -> str:
    lines = []
    for problem in error.errors(include_input=False, include_url=False):
        names = [str(part) for part in problem["loc"] if part != "[key]"]
        cause = problem.get("ctx", {}).get("error")
        key = ".".join([*names, cause.key] if isinstance(cause, Misfit) else names)
        said = problem["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        message = PLAIN_WORDS.get(problem["type"], said)
        if problem["type"] == "extra_forbidden":
            allowed = _fields(names[:-1])
            message = f"is not a setting; allowed are {', '.join(allowed)}{did_you_mean(names[-1], allowed)}"
        if key in SECRETS:
            message = f"{message}: {secrets.way(key)}"
        lines.append(f"{key}: {message} (from {gathered.origin(key)})")
    return "\n".join(lines)
