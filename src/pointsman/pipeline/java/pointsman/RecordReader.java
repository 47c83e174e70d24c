package pointsman;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A record's value → (reason, row): the row of its source's columns, or the reason why it is none.
 *
 * <p>The rules are those of docs/reference/records.md, and one pass over the text tells them all. Whatever the bytes
 * are, it answers. Of no value at all it makes nothing.
 */
public final class RecordReader implements UDF1<byte[], Row> {
    private enum Type {
        STRING,
        LONG,
        DOUBLE,
        BOOLEAN
    }

    private static final Object WRONG = new Object();
    private static final JsonFactory JSON = JsonFactory.builder()
            // A value has a largest size, which bounds all in it but what many levels would take in memory.
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(1000)
                    .maxNumberLength(Integer.MAX_VALUE)
                    .maxStringLength(Integer.MAX_VALUE)
                    .maxNameLength(Integer.MAX_VALUE)
                    .build())
            // Names come from anybody: none is kept when its record has been read.
            .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
            .build();

    private final Map<String, Integer> places = new HashMap<>();
    private final Type[] types;
    private final int mostBytes;

    /** Columns by name and type, the latter as in the settings. */
    public RecordReader(final List<String> names, final List<String> types, final int mostBytes) {
        for (final String name : names) {
            places.put(name, places.size());
        }
        this.types = types.stream()
                .map(type -> Type.valueOf(type.toUpperCase(Locale.ROOT)))
                .toArray(Type[]::new);
        this.mostBytes = mostBytes;
    }

    @Override
    public Row call(final byte[] value) {
        if (value == null) {
            return null;
        }
        if (value.length == 0) {
            return refused("empty");
        }
        if (value.length > mostBytes) {
            return refused("too-large");
        }
        if (!UTF8String.fromBytes(value).isValid()) {
            return refused("bad-utf8");
        }
        try (JsonParser json = JSON.createParser(new String(value, StandardCharsets.UTF_8))) {
            return read(json);
        } catch (final IOException | RuntimeException notJson) { // no record may end a query
            return refused("not-json");
        }
    }

    private Row read(final JsonParser json) throws IOException {
        final JsonToken first = json.nextToken();
        final Object[] row = first == JsonToken.START_OBJECT ? fields(json) : null;
        json.skipChildren();
        if (first == null || json.nextToken() != null) {
            return refused("not-json");
        }
        if (first != JsonToken.START_OBJECT) {
            return refused("not-an-object");
        }
        return row == null ? refused("wrong-type") : RowFactory.create(null, RowFactory.create(row));
    }

    /** Reads to the end of the object; null if one of its values is of a type that its column does not take. */
    private Object[] fields(final JsonParser json) throws IOException {
        final Object[] row = new Object[types.length];
        boolean right = true;
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            final Integer place = places.get(json.currentName());
            final JsonToken token = json.nextToken();
            if (place != null) {
                row[place] = token == JsonToken.VALUE_NULL ? null : typed(json, token, types[place]);
                right &= row[place] != WRONG;
            }
            json.skipChildren();
        }
        return right ? row : null;
    }

    private static Object typed(final JsonParser json, final JsonToken token, final Type type) throws IOException {
        switch (type) {
            case STRING:
                return token.isScalarValue() ? json.getText() : copied(json, token);
            case LONG:
                final boolean isLong = token == JsonToken.VALUE_NUMBER_INT
                        && json.getNumberType() != JsonParser.NumberType.BIG_INTEGER;
                return isLong ? (Object) json.getLongValue() : WRONG;
            case DOUBLE:
                if (!token.isNumeric()) {
                    return WRONG;
                }
                final double number = Double.parseDouble(json.getText());
                return Double.isInfinite(number) ? WRONG : (Object) number;
            default:
                return token.isBoolean() ? (Object) json.getBooleanValue() : WRONG;
        }
    }

    /** The array or object that begins here as text, without white space, its numbers with the digits they have. */
    private static String copied(final JsonParser json, final JsonToken begins) throws IOException {
        final StringWriter text = new StringWriter();
        try (JsonGenerator out = JSON.createGenerator(text)) {
            JsonToken token = begins;
            int depth = 0;
            do {
                depth += token.isStructStart() ? 1 : token.isStructEnd() ? -1 : 0;
                if (token.isNumeric()) {
                    out.writeNumber(json.getText());
                } else {
                    out.copyCurrentEvent(json);
                }
                token = depth > 0 ? json.nextToken() : null;
            } while (token != null);
        }
        return text.toString();
    }

    private static Row refused(final String reason) {
        return RowFactory.create(reason, null);
    }
}
