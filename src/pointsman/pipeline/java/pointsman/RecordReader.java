package pointsman;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamWriteConstraints;
import java.io.IOException;
import java.io.StringWriter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A record's value → (reason, row): the row of its source's columns, or the reason why it is none.
 *
 * <p>The rules are those of docs/reference/records.md, and one pass over the bytes tells them all. Whatever the bytes
 * are, it answers. Of no value at all it makes nothing.
 */
public final class RecordReader implements UDF1<byte[], Row> {
    private static final Object WRONG = new Object();
    private static final JsonFactory JSON = JsonFactory.builder()
            // A value has a largest size, which bounds all that is in it.
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(Integer.MAX_VALUE)
                    .maxNumberLength(Integer.MAX_VALUE)
                    .maxStringLength(Integer.MAX_VALUE)
                    .maxNameLength(Integer.MAX_VALUE)
                    .build())
            .streamWriteConstraints(StreamWriteConstraints.builder()
                    .maxNestingDepth(Integer.MAX_VALUE)
                    .build())
            // Names come from anybody: none is kept for the life of the process, nor refused for its hash.
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
            .build();

    private final Map<String, Integer> places = new HashMap<>();
    private final String[] types;
    private final int mostBytes;

    /** Columns by name and type, the latter as in the settings. */
    public RecordReader(final List<String> names, final List<String> types, final int mostBytes) {
        for (final String name : names) {
            places.put(name, places.size());
        }
        this.types = types.toArray(new String[0]);
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
        if (looksLikeAnotherEncoding(value)) {
            return refused("not-json");
        }
        try (JsonParser json = JSON.createParser(value)) {
            return read(json);
        } catch (final IOException notJson) {
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
            if (place != null && token != JsonToken.VALUE_NULL) {
                final Object found = typed(json, token, types[place]);
                right &= found != WRONG;
                row[place] = found;
            } else if (place != null) {
                row[place] = null;
            }
            json.skipChildren();
        }
        return right ? row : null;
    }

    private static Object typed(final JsonParser json, final JsonToken token, final String type) throws IOException {
        switch (type) {
            case "string":
                return token == JsonToken.VALUE_STRING ? json.getText() : asText(json, token);
            case "long":
                final boolean isLong = token == JsonToken.VALUE_NUMBER_INT
                        && json.getNumberType() != JsonParser.NumberType.BIG_INTEGER;
                return isLong ? (Object) json.getLongValue() : WRONG;
            case "double":
                if (!token.isNumeric()) {
                    return WRONG;
                }
                final double number = Double.parseDouble(json.getText());
                return Double.isInfinite(number) ? WRONG : (Object) number;
            case "boolean":
                return token.isBoolean() ? (Object) json.getBooleanValue() : WRONG;
            default:
                throw new IllegalStateException("no such type: " + type);
        }
    }

    private static String asText(final JsonParser json, final JsonToken token) throws IOException {
        if (token.isScalarValue()) {
            return json.getText();
        }
        final StringWriter text = new StringWriter();
        try (JsonGenerator out = JSON.createGenerator(text)) {
            out.copyCurrentStructureExact(json);
        }
        return text.toString();
    }

    /** Jackson would read UTF-16 and UTF-32, and pass over a byte order mark. None of it is JSON in UTF-8. */
    private static boolean looksLikeAnotherEncoding(final byte[] value) {
        for (int i = 0; i < Math.min(4, value.length); i++) {
            if (value[i] == 0) {
                return true;
            }
        }
        return value[0] == (byte) 0xEF;
    }

    private static Row refused(final String reason) {
        return RowFactory.create(reason, null);
    }
}
