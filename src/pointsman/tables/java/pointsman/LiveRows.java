package pointsman;

import io.deephaven.engine.context.ExecutionContext;
import io.deephaven.engine.liveness.LivenessScope;
import io.deephaven.engine.liveness.LivenessScopeStack;
import io.deephaven.engine.rowset.RowSet;
import io.deephaven.engine.rowset.RowSetFactory;
import io.deephaven.engine.rowset.TrackingWritableRowSet;
import io.deephaven.engine.table.Table;
import io.deephaven.engine.table.impl.QueryTable;
import io.deephaven.engine.updategraph.UpdateGraph;
import io.deephaven.util.SafeCloseable;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A live table whose rows are put from outside, applied once per update cycle.
 *
 * <p>Promises: what {@link Places} promises of keyed rows; at most `keep` rows, the newest; memory follows the rows that
 * are shown. Data cannot fail it.
 */
public final class LiveRows implements Runnable, AutoCloseable {
    /** A cycle spends at most this on one table, so that a generation being read does not slow the one on screen. */
    private static final long BUDGET_NANOS = 10_000_000L;

    /** And this while there is nothing on screen: after a start, reading is all that counts. */
    private static final long BUDGET_UNSEEN_NANOS = 100_000_000L;

    private static final Logger LOG = LoggerFactory.getLogger(LiveRows.class);

    private static final int PENDING_ROWS = 50_000;

    private record Batch(List<Row> rows, Map<Integer, Long> positions) {}

    private final Kind[] kinds;
    private final long keep;
    private final boolean reuse;
    private final SeenRecords seen;
    private final Places places;
    private final Columns columns;
    private final TrackingWritableRowSet rowSet;
    private final QueryTable table;
    private final ExecutionContext context;
    private final UpdateGraph graph;
    private final BooleanSupplier onScreen;
    private final LivenessScope scope = new LivenessScope();

    private final Map<Integer, Long> applied = new ConcurrentHashMap<>();
    private final ArrayDeque<Batch> pending = new ArrayDeque<>();
    private int pendingRows;
    private boolean closed;

    /**
     * @param generation shown in a last column of that name; negative for a table without one
     * @param keep the most rows it holds; the oldest go first
     * @param reuse whether a removed row's place is taken by the next new one, which suits keyed rows, or new rows
     *     always come last
     * @param once whether keys are source records, each appended the first time it is seen
     * @param onScreen whether there is anything on screen, of this table or another
     */
    LiveRows(
            final ExecutionContext context,
            final BooleanSupplier onScreen,
            final String[] names,
            final Kind[] kinds,
            final long generation,
            final long keep,
            final boolean reuse,
            final boolean once) {
        this.context = context;
        this.onScreen = onScreen;
        this.kinds = kinds;
        this.keep = keep;
        this.reuse = reuse;
        this.seen = once ? new SeenRecords() : null;
        this.places = new Places(keep);
        this.graph = context.getUpdateGraph();
        // Row sets and columns take their update graph from the context that they are made in.
        try (final SafeCloseable ignored = context.open();
                final SafeCloseable ignored2 = LivenessScopeStack.open(scope, false)) {
            columns = new Columns(kinds);
            rowSet = RowSetFactory.empty().toTracking();
            table = new QueryTable(rowSet, columns.shown(names, generation));
            table.setRefreshing(true);
            scope.manage(table);
        }
        graph.addSource(this);
    }

    public Table table() {
        return table;
    }

    /** The same rows, the last one first; it lives as long as these rows. */
    public Table newestFirst() {
        return derived(Table::reverse);
    }

    /** The same rows, the largest of this column first; it lives as long as these rows. */
    public Table largestFirst(final String column) {
        return derived(rows -> rows.sortDescending(column));
    }

    private Table derived(final UnaryOperator<Table> how) {
        try (final SafeCloseable ignored = context.open();
                final SafeCloseable ignored2 = LivenessScopeStack.open(scope, false)) {
            final Table result = graph.sharedLock().computeLocked(() -> how.apply(table));
            scope.manage(result);
            return result;
        }
    }

    /** True when every record before this offset of the partition has been applied. */
    public boolean reached(final int partition, final long offset) {
        return applied.getOrDefault(partition, 0L) >= offset;
    }

    /** One row given by code: times in nanoseconds since the epoch. Without values, the row is removed. */
    public void put(final String key, final long version, final List<Object> values) throws InterruptedException {
        final Object[] boxed = values == null ? null : new Object[kinds.length];
        for (int column = 0; boxed != null && column < boxed.length; column++) {
            boxed[column] = kinds[column].box(values.get(column));
        }
        offer(List.of(new Row(key, version, boxed == null, boxed)), Map.of());
    }

    /** Waits while too much is waiting to be applied. */
    void offer(final List<Row> rows, final Map<Integer, Long> positions) throws InterruptedException {
        synchronized (pending) {
            while (pendingRows > PENDING_ROWS && !closed) {
                pending.wait();
            }
            if (!closed) {
                pending.add(new Batch(rows, positions));
                pendingRows += rows.size();
            }
        }
    }

    private Batch poll() {
        synchronized (pending) {
            final Batch batch = pending.poll();
            if (batch != null) {
                pendingRows -= batch.rows.size();
                pending.notifyAll();
            }
            return batch;
        }
    }

    private boolean isWaiting() {
        synchronized (pending) {
            return !pending.isEmpty();
        }
    }

    /** One update cycle. */
    @Override
    public void run() {
        final long until = System.nanoTime() + (onScreen.getAsBoolean() ? BUDGET_NANOS : BUDGET_UNSEEN_NANOS);
        final Changes changes = new Changes();
        Batch batch;
        while (System.nanoTime() < until && (batch = poll()) != null) {
            for (final Row row : batch.rows) {
                try {
                    apply(row, changes);
                } catch (RuntimeException surprise) {
                    // What leaves a source's run() ends the whole server, and with it every viewer's tables.
                    LOG.error("a row was not applied", surprise);
                }
            }
            applied.putAll(batch.positions);
        }
        if (!changes.isEmpty()) {
            publish(changes.sum(rowSet, keep));
        }
        if (isWaiting()) {
            // Short cycles one after the other: rows of a generation being read need not wait for the next one's time,
            // and those on screen are updated in each.
            graph.requestRefresh();
        }
    }

    private void apply(final Row row, final Changes changes) {
        if (seen != null && !seen.isNew(row.key)) {
            return;
        }
        if (row.delete) {
            places.remove(row.key, row.version, changes);
            return;
        }
        final long at = row.key == null || seen != null
                ? places.append(changes)
                : places.put(row.key, row.version, changes);
        if (at >= 0) {
            columns.write(at, row.values);
        }
    }

    private void publish(final Changes.Sum sum) {
        rowSet.update(sum.added(), sum.removed());
        try (final RowSet gone = sum.gone()) {
            columns.clear(gone);
            if (reuse) {
                places.reuse(gone);
            } else {
                columns.free(rowSet, gone);
            }
        }
        if (sum.isSilent()) {
            sum.added().close();
            sum.removed().close();
            sum.modified().close();
        } else {
            table.notifyListeners(sum.added(), sum.removed(), sum.modified());
        }
    }

    /** Stops taking rows; the table is freed when nobody else holds it. Call it when nothing shows the table. */
    @Override
    public void close() {
        synchronized (pending) {
            closed = true;
            pending.clear();
            pending.notifyAll();
        }
        graph.removeSource(this);
        scope.release();
    }
}
