package pointsman;

/** One change to a live table, made by a {@link Decoder} and applied by {@link LiveRows}. Immutable by agreement. */
final class Row {
    /** What the row is known by; null where the table only appends. */
    final String key;
    /** Grows per key; an older one never replaces a newer one. */
    final long version;
    final boolean delete;
    /** One value per column, of the column's own type; null is null. */
    final Object[] values;

    Row(final String key, final long version, final boolean delete, final Object[] values) {
        this.key = key;
        this.version = version;
        this.delete = delete;
        this.values = values;
    }
}
