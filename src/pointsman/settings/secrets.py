"""Secrets: which settings are, and the ways in: a variable, a named file, a folder of files; never pointsman.toml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, SecretStr

from pointsman.domain.errors import SettingsError

FOLDER = "POINTSMAN_SECRETS_DIR"
FILE_SUFFIX = "_file"
MOST_BYTES = 65_536


def group(annotation: Any) -> type[BaseModel] | None:
    """The group of settings that a field holds, also where it may be left out."""
    kinds = (kind for kind in (annotation, *get_args(annotation)) if isinstance(kind, type))
    return next((kind for kind in kinds if issubclass(kind, BaseModel)), None)


def secret_keys(model: type[BaseModel], above: str = "") -> Iterator[str]:
    """Every setting that is a secret, as `kafka.sasl.password`."""
    for name, field in model.model_fields.items():
        if field.annotation is SecretStr:
            yield f"{above}{name}"
        elif below := group(field.annotation):
            yield from secret_keys(below, f"{above}{name}.")


def way(key: str) -> str:
    """How a secret is set right."""
    variable = f"POINTSMAN_{key.replace('.', '__').upper()}"
    return (
        f"set the variable {variable}, or {variable}_FILE to the path of a file that holds it, "
        f"or put a file '{key}' into the folder that {FOLDER} names"
    )


def refuse_in_file(values: Mapping[str, Any], keys: frozenset[str], path: Path) -> None:
    """A settings file is copied, committed and mailed: a secret in it is one no longer."""
    for key in sorted(keys):
        if _at(values, key) is not None:
            raise SettingsError(
                f"{key}: is a secret, and {path} is no place for one", f"take it out there, and {way(key)}"
            )


def from_files(values: Mapping[str, Any], keys: frozenset[str], origin: str) -> Iterator[tuple[str, str, str]]:
    """(key, secret, origin) of each `<secret>_file` that is named here."""
    for key in sorted(keys):
        named = _at(values, f"{key}{FILE_SUFFIX}")
        if named is None:
            continue
        if _at(values, key) is not None:
            raise SettingsError(f"{key}: is set, and {key}{FILE_SUFFIX}, too ({origin})", "leave one of them out")
        path = Path(str(named)).expanduser()
        yield key, read(path, f"{key}{FILE_SUFFIX}"), f"the file {path}, named by {origin}"


def from_folder(folder: Path, keys: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    """(key, secret, origin) of each file that is called like a secret; others are somebody else's."""
    if not folder.is_dir():
        raise SettingsError(f"{FOLDER}: the folder {folder} does not exist", "check the path, or leave it out")
    for key in sorted(keys):
        path = folder / key
        if path.exists():
            yield key, read(path, key), f"the file {path}"


def read(path: Path, key: str) -> str:
    """The secret, without the line end that editors add."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1).decode().rstrip("\r\n")
    except OSError as error:
        raise SettingsError(f"{key}: the file {path} cannot be read: {error.strerror}", f"check {path}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{key}: the file {path} is not UTF-8", f"check {path}") from None
    if not text or len(text) > MOST_BYTES:
        raise SettingsError(f"{key}: the file {path} is {'too large' if text else 'empty'}", f"check {path}")
    return text


def without_files(values: Mapping[str, Any], keys: frozenset[str], above: str = "") -> dict[str, Any]:
    """These values without the names of files that hold secrets: what was in them takes their place."""
    return {
        name: without_files(value, keys, f"{above}{name}.") if isinstance(value, Mapping) else value
        for name, value in values.items()
        if not (name.endswith(FILE_SUFFIX) and f"{above}{name}".removesuffix(FILE_SUFFIX) in keys)
    }


def nested(names: Sequence[str], value: Any) -> dict[str, Any]:
    """`a.b` = 1 as {"a": {"b": 1}}."""
    found: dict[str, Any] = {names[-1]: value}
    for name in reversed(names[:-1]):
        found = {name: found}
    return found


def _at(values: Any, key: str) -> Any:
    for name in key.split("."):
        values = values.get(name) if isinstance(values, Mapping) else None
    return values
