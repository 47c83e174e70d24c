"""The Java virtual machine inside this process, with our own classes first on its class path.

The classes are compiled once per version into the home folder, by the compiler that Deephaven itself needs
for every formula. A process has one such machine for its life.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from pointsman.broker.java import java_command
from pointsman.domain.errors import EnvironmentProblem

SOURCES = Path(__file__).parent / "java"


def start(home: Path, options: list[str], properties: dict[str, str]) -> None:
    """When this returns, Java runs in this process and `import deephaven` works once a server is made."""
    java_command()
    from deephaven_internal import jvm
    from deephaven_server import start_jvm

    jars = sorted(str(jar) for jar in start_jvm._jars())
    classes = home / "java" / _fingerprint()
    classes.mkdir(parents=True, exist_ok=True)
    jvm.init_jvm(  # type: ignore[no-untyped-call]
        java_home=os.environ.get("JAVA_HOME"),
        jvm_classpath=[str(classes), *jars],
        jvm_properties={**start_jvm.DEFAULT_JVM_PROPERTIES, **properties},
        jvm_options=[
            *start_jvm.DEFAULT_JVM_ARGS,
            # What Deephaven's own start asks for, since it needs these packages opened.
            "--add-opens=java.base/java.nio=ALL-UNNAMED",
            "--add-exports=java.management/sun.management=ALL-UNNAMED",
            "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
            # What the machine itself says (it greets with its compiler directives) is not ours to say on stdout.
            "-XX:+DisplayVMOutputToStderr",
            *options,
        ],
    )
    if not any(classes.iterdir()):
        _compile(classes, jars)


def java_type(name: str) -> Any:
    import jpy

    return jpy.get_type(name)


def _fingerprint() -> str:
    from importlib.metadata import version

    digest = hashlib.sha256(version("deephaven-server").encode())
    for source in sorted(SOURCES.rglob("*.java")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _compile(classes: Path, jars: list[str]) -> None:
    """Fills the folder in two moves, so that a start that is cut short leaves no half of it."""
    compiler = java_type("javax.tools.ToolProvider").getSystemJavaCompiler()
    if compiler is None:
        raise EnvironmentProblem(
            "this Java has no compiler, and Deephaven compiles formulas", "install a JDK 17 or 21, not a JRE"
        )
    output = java_type("java.io.ByteArrayOutputStream")()
    sources = [str(source) for source in sorted(SOURCES.rglob("*.java"))]
    with tempfile.TemporaryDirectory(dir=classes.parent) as made:
        arguments = ["-proc:none", "-nowarn", "-cp", os.pathsep.join(jars), "-d", made, *sources]
        if compiler.run(None, output, output, arguments) != 0:
            raise EnvironmentProblem(f"our Java classes do not compile: {output.toString()}", "install a JDK 17 or 21")
        for entry in sorted(Path(made).iterdir()):
            if not (classes / entry.name).exists():
                shutil.move(str(entry), str(classes / entry.name))
