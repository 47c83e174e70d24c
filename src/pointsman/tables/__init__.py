"""Live tables: a Deephaven server that follows the catalog. Deephaven is imported here and nowhere else."""
