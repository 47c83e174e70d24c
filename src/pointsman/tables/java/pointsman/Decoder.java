package pointsman;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Turns the bytes of one topic's records into rows.
 *
 * <p>Whatever the bytes are, {@link #decode} returns: a row, or null for a record that is not one. Deephaven's own
 * JSON ingestion fails its table on a null or malformed value, and with it every table made from it.
 */
final class Decoder {
    /** What a topic's records mean. */
    enum Rule {
        /** Every record is a row, whatever its bytes; what is not a JSON object has null columns. */
        ANY,
        /** JSON objects, appended. */
        APPEND,
        /** JSON objects, the latest per Kafka key; where one key is named, only its records. */
        LATEST,
        /** A view's changelog: keyed by the source record, appended once. */
        VIEW,
        /** A final changelog: keyed by row, with `_op` and `_version`. */
        FINAL
    }

    private static final JsonFactory JSON =
            JsonFactory.builder().enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER).build();
    private static final int OP = -1;
    private static final int VERSION = -2;

    private final Rule rule;
    private final String only;
    private final Kind[] kinds;
    private final String[] origins;
    /** The columns that say something of the record itself. */
    private final int[] described;
    private final Map<String, Integer> fields = new HashMap<>();

    /**
     * @param origins per column where it comes from: `.field` of the JSON object, or `@key`, `@text`, `@partition`,
     *     `@offset`, `@timestamp` of the record
     * @param only the one key whose records count; empty for all
     */
    Decoder(final Rule rule, final Kind[] kinds, final String[] origins, final String only) {
        this.rule = rule;
        this.only = only;
        this.kinds = kinds;
        this.origins = origins;
        for (int column = 0; column < origins.length; column++) {
            if (origins[column].startsWith(".")) {
                fields.put(origins[column].substring(1), column);
            }
        }
        this.described = IntStream.range(0, origins.length)
                .filter(column -> origins[column].startsWith("@") || origins[column].equals("._ts"))
                .toArray();
        if (rule == Rule.VIEW || rule == Rule.FINAL) {
            fields.put("_op", OP);
            fields.put("_version", VERSION);
        }
    }

    Row decode(final ConsumerRecord<byte[], byte[]> record) {
        final Object[] values = new Object[kinds.length];
        final Parsed parsed = new Parsed();
        boolean object = false;
        if (record.value() != null) {
            try (final JsonParser json = JSON.createParser(record.value())) {
                object = parse(json, values, parsed);
            } catch (IOException | RuntimeException notJson) {
                object = false;
            }
        }
        if (!object) {
            if (rule != Rule.ANY) {
                return null;
            }
            Arrays.fill(values, null);
        }
        describe(record, values);
        return row(record, values, parsed);
    }

    private static final class Parsed {
        String op;
        Long version;
    }

    private boolean parse(final JsonParser json, final Object[] values, final Parsed parsed) throws IOException {
        if (json.nextToken() != JsonToken.START_OBJECT) {
            return false;
        }
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            final Integer column = fields.get(json.currentName());
            final JsonToken token = json.nextToken();
            if (column == null) {
                json.skipChildren();
            } else if (token == JsonToken.VALUE_NULL) {
                if (column >= 0) {
                    values[column] = null;
                }
            } else if (column == OP) {
                parsed.op = (String) Kind.STRING.read(json);
            } else if (column == VERSION) {
                parsed.version = (Long) Kind.LONG.read(json);
            } else {
                values[column] = kinds[column].read(json);
            }
        }
        return json.currentToken() == JsonToken.END_OBJECT && json.nextToken() == null;
    }

    private void describe(final ConsumerRecord<byte[], byte[]> record, final Object[] values) {
        for (final int column : described) {
            switch (origins[column]) {
                case "@key" -> values[column] = text(record.key());
                case "@text" -> values[column] = text(record.value());
                case "@partition" -> values[column] = (long) record.partition();
                case "@offset" -> values[column] = record.offset();
                case "@timestamp" -> values[column] = Kind.nanos(record.timestamp(), 1_000_000L);
                default -> {
                    // An event time that is missing is the record's own.
                    if (values[column] == null) {
                        values[column] = Kind.nanos(record.timestamp(), 1_000_000L);
                    }
                }
            }
        }
    }

    private Row row(final ConsumerRecord<byte[], byte[]> record, final Object[] values, final Parsed parsed) {
        final String key = key(record, values);
        return switch (rule) {
            case ANY, APPEND -> new Row(null, 0, false, values);
            case LATEST -> key == null || !(only.isEmpty() || only.equals(key)) ? null : new Row(key, 0, false, values);
            case VIEW -> key != null && "u".equals(parsed.op) ? new Row(key, 0, false, values) : null;
            case FINAL -> key == null || parsed.version == null || !("u".equals(parsed.op) || "d".equals(parsed.op))
                    ? null
                    : new Row(key, parsed.version, "d".equals(parsed.op), values);
        };
    }

    /** A row's key is mostly its first value too: one string for both, as long as the row lives. */
    private static String key(final ConsumerRecord<byte[], byte[]> record, final Object[] values) {
        final String key = text(record.key());
        return values.length > 0 && values[0] instanceof String first && first.equals(key) ? first : key;
    }

    /** UTF-8, with what is not UTF-8 replaced, so that any bytes can be shown. */
    private static String text(final byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }
}
