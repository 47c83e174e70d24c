package pointsman;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.deephaven.engine.table.ColumnSource;
import io.deephaven.engine.table.impl.sources.BooleanSparseArraySource;
import io.deephaven.engine.table.impl.sources.DoubleSparseArraySource;
import io.deephaven.engine.table.impl.sources.LongAsInstantColumnSource;
import io.deephaven.engine.table.impl.sources.LongSparseArraySource;
import io.deephaven.engine.table.impl.sources.ObjectSparseArraySource;
import io.deephaven.engine.table.impl.sources.SparseArrayColumnSource;
import io.deephaven.util.QueryConstants;
import java.io.IOException;

/** What a column holds: how it is read from JSON, and how it is stored. A JSON value that does not fit is null. */
enum Kind {
    STRING {
        @Override
        Object read(final JsonParser json) throws IOException {
            return json.currentToken().isScalarValue() ? json.getText() : skipped(json);
        }

        @Override
        SparseArrayColumnSource<?> store() {
            return new ObjectSparseArraySource<>(String.class);
        }

        @Override
        @SuppressWarnings("unchecked")
        void put(final SparseArrayColumnSource<?> store, final long at, final Object value) {
            ((ObjectSparseArraySource<String>) store).set(at, (String) value);
        }
    },
    LONG {
        @Override
        Object read(final JsonParser json) throws IOException {
            return json.currentToken() == JsonToken.VALUE_NUMBER_INT && json.getNumberType() != JsonParser.NumberType.BIG_INTEGER
                    ? (Object) json.getLongValue()
                    : skipped(json);
        }

        @Override
        SparseArrayColumnSource<?> store() {
            return new LongSparseArraySource();
        }

        @Override
        void put(final SparseArrayColumnSource<?> store, final long at, final Object value) {
            store.set(at, value == null ? QueryConstants.NULL_LONG : (long) value);
        }
    },
    DOUBLE {
        @Override
        Object read(final JsonParser json) throws IOException {
            return json.currentToken().isNumeric() ? (Object) json.getDoubleValue() : skipped(json);
        }

        @Override
        SparseArrayColumnSource<?> store() {
            return new DoubleSparseArraySource();
        }

        @Override
        void put(final SparseArrayColumnSource<?> store, final long at, final Object value) {
            store.set(at, value == null ? QueryConstants.NULL_DOUBLE : (double) value);
        }
    },
    BOOLEAN {
        @Override
        Object read(final JsonParser json) throws IOException {
            return json.currentToken().isBoolean() ? (Object) json.getBooleanValue() : skipped(json);
        }

        @Override
        SparseArrayColumnSource<?> store() {
            return new BooleanSparseArraySource();
        }

        @Override
        void put(final SparseArrayColumnSource<?> store, final long at, final Object value) {
            ((BooleanSparseArraySource) store).set(at, (Boolean) value);
        }
    },
    /** Milliseconds since the epoch, shown as an Instant. */
    MILLIS {
        @Override
        Object read(final JsonParser json) throws IOException {
            final Object millis = LONG.read(json);
            return millis == null ? null : nanos((long) millis, 1_000_000L);
        }

        @Override
        SparseArrayColumnSource<?> store() {
            return new LongSparseArraySource();
        }

        @Override
        ColumnSource<?> shown(final SparseArrayColumnSource<?> store) {
            return new LongAsInstantColumnSource((LongSparseArraySource) store);
        }

        @Override
        void put(final SparseArrayColumnSource<?> store, final long at, final Object value) {
            LONG.put(store, at, value);
        }
    },
    /** Seconds since the epoch, with a fraction, shown as an Instant. */
    SECONDS {
        @Override
        Object read(final JsonParser json) throws IOException {
            final Object seconds = DOUBLE.read(json);
            return seconds == null ? null : nanos(Math.round((double) seconds * 1e6), 1_000L);
        }

        @Override
        SparseArrayColumnSource<?> store() {
            return MILLIS.store();
        }

        @Override
        ColumnSource<?> shown(final SparseArrayColumnSource<?> store) {
            return MILLIS.shown(store);
        }

        @Override
        void put(final SparseArrayColumnSource<?> store, final long at, final Object value) {
            LONG.put(store, at, value);
        }
    },
    /** A string that may be long: its beginning. */
    TEXT {
        @Override
        Object read(final JsonParser json) throws IOException {
            return STRING.read(json);
        }

        @Override
        SparseArrayColumnSource<?> store() {
            return STRING.store();
        }

        @Override
        void put(final SparseArrayColumnSource<?> store, final long at, final Object value) {
            final String text = (String) value;
            STRING.put(store, at, text == null || text.length() <= TEXT_LENGTH ? text : text.substring(0, TEXT_LENGTH) + "…");
        }
    },
    /** A list of strings, shown as one string. */
    WORDS {
        @Override
        Object read(final JsonParser json) throws IOException {
            if (json.currentToken() != JsonToken.START_ARRAY) {
                return skipped(json);
            }
            final StringBuilder words = new StringBuilder();
            while (json.nextToken() != JsonToken.END_ARRAY) {
                final Object word = STRING.read(json);
                if (word != null) {
                    words.append(words.length() == 0 ? "" : ", ").append(word);
                }
            }
            return words.toString();
        }

        @Override
        SparseArrayColumnSource<?> store() {
            return STRING.store();
        }

        @Override
        void put(final SparseArrayColumnSource<?> store, final long at, final Object value) {
            STRING.put(store, at, value);
        }
    };

    private static final int TEXT_LENGTH = 4096;

    /** The value at the parser's current token, which is never the JSON null; leaves the parser at the value's end. */
    abstract Object read(JsonParser json) throws IOException;

    abstract SparseArrayColumnSource<?> store();

    /** What viewers see of a store. */
    ColumnSource<?> shown(final SparseArrayColumnSource<?> store) {
        return store;
    }

    abstract void put(SparseArrayColumnSource<?> store, long at, Object value);

    /** A value given by code, in the type that this kind stores: Python's numbers arrive in the smallest box. */
    final Object box(final Object value) {
        if (!(value instanceof Number number)) {
            return value;
        }
        return this == DOUBLE ? (Object) number.doubleValue() : (Object) number.longValue();
    }

    /** Null where the product is no longer a moment that an Instant column can hold. */
    static Long nanos(final long value, final long factor) {
        final long high = Math.multiplyHigh(value, factor);
        final long low = value * factor;
        return (high == 0 && low >= 0) || (high == -1 && low < 0) ? low : null;
    }

    private static Object skipped(final JsonParser json) throws IOException {
        json.skipChildren();
        return null;
    }
}
