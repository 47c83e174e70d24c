"""Checkpoints on the local disk: the class that writes them, and what it says when it cannot be made."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pointsman.broker.java import java_command
from pointsman.domain.errors import EnvironmentProblem
from pointsman.pipeline import local_files

pytestmark = pytest.mark.spark


def test_a_file_written_through_it_has_its_bytes_and_its_permissions(spark: SparkSession, tmp_path: Path) -> None:
    jvm = spark._jvm
    assert jvm is not None
    target = tmp_path / "folder" / "file"
    path = jvm.org.apache.hadoop.fs.Path(target.as_uri())
    files = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    out = files.create(path, jvm.org.apache.hadoop.fs.permission.FsPermission("640"), True, 4096, 1, 4096, None)
    out.write(bytearray(b"state"))
    out.close()
    assert files.getClass().getName() == "pointsman.LocalFiles"
    assert target.read_bytes() == b"state"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_it_is_compiled_once(tmp_path: Path) -> None:
    first = Path(local_files.conf(java_command(), tmp_path)["spark.driver.extraClassPath"])
    made = (first / "pointsman" / "LocalFiles.class").stat()
    assert local_files.conf("no java is needed now", tmp_path)["spark.driver.extraClassPath"] == str(first)
    assert (first / "pointsman" / "LocalFiles.class").stat() == made
    assert [entry.name for entry in first.parent.iterdir()] == [first.name]


def test_a_java_without_a_compiler_is_said(tmp_path: Path) -> None:
    runtime_only = tmp_path / "java"
    runtime_only.write_text("#!/bin/sh\necho 'Module jdk.compiler not found' >&2\nexit 1\n")
    runtime_only.chmod(0o755)
    with pytest.raises(EnvironmentProblem, match=r"jdk\.compiler not found") as raised:
        local_files.conf(str(runtime_only), tmp_path / "home")
    assert "install a JDK" in raised.value.next_step
