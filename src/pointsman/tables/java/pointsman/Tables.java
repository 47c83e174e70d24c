package pointsman;

import io.deephaven.engine.context.ExecutionContext;
import io.deephaven.engine.table.ColumnDefinition;
import io.deephaven.engine.table.TableDefinition;
import java.util.ArrayList;
import java.util.List;

/** The way in from Python: makes live tables and feeds them. */
public final class Tables {
    private final ExecutionContext context;
    private final StableTables stable;

    /** Uses the update graph of the calling thread's execution context. */
    public Tables() {
        this.context = ExecutionContext.getContext();
        this.stable = new StableTables(context);
    }

    /** The tables that viewers open. */
    public StableTables stable() {
        return stable;
    }

    /**
     * A live table fed by one topic.
     *
     * @param only the one key whose records count; empty for all
     * @param columns per column: name, kind, origin
     * @param bounded whether it holds the newest `keep` rows, the newest last, or every key there is
     */
    public LiveRows follow(
            final TopicReader reader,
            final String topic,
            final String rule,
            final String only,
            final List<List<String>> columns,
            final long generation,
            final long keep,
            final boolean bounded) {
        final Decoder.Rule meaning = Decoder.Rule.valueOf(rule);
        final Kind[] kinds = kinds(columns);
        final LiveRows rows = new LiveRows(
                context,
                stable::isOnScreen,
                column(columns, 0),
                kinds,
                generation,
                bounded ? keep : Long.MAX_VALUE,
                !bounded,
                meaning == Decoder.Rule.VIEW);
        reader.add(topic, new Decoder(meaning, kinds, column(columns, 2), only), rows);
        return rows;
    }

    /** A live table that only {@link LiveRows#put} fills. */
    public LiveRows rows(final List<List<String>> columns) {
        return new LiveRows(
                context, stable::isOnScreen, column(columns, 0), kinds(columns), -1, Long.MAX_VALUE, true, false);
    }

    /** The definition of a data table with these columns: `generation` comes last. */
    public static TableDefinition definition(final List<List<String>> columns) {
        final List<ColumnDefinition<?>> found = new ArrayList<>();
        for (final List<String> column : columns) {
            final Kind kind = Kind.valueOf(column.get(1));
            found.add(ColumnDefinition.fromGenericType(column.get(0), kind.shown(kind.store()).getType()));
        }
        found.add(ColumnDefinition.ofLong("generation"));
        return TableDefinition.of(found);
    }

    private static Kind[] kinds(final List<List<String>> columns) {
        return columns.stream().map(column -> Kind.valueOf(column.get(1))).toArray(Kind[]::new);
    }

    private static String[] column(final List<List<String>> columns, final int part) {
        return columns.stream().map(column -> column.get(part)).toArray(String[]::new);
    }
}
