"""Spark, and only here: from source topics to the changelogs of one generation."""
