"""The pipeline tests' one Spark session is this folder's too."""

from tests.pipeline.conftest import spark

__all__ = ["spark"]
