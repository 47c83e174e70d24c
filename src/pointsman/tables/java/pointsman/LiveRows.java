package pointsman;

import io.deephaven.engine.context.ExecutionContext;
import io.deephaven.engine.liveness.LivenessScope;
import io.deephaven.engine.liveness.LivenessScopeStack;
import io.deephaven.engine.rowset.RowSet;
import io.deephaven.engine.rowset.RowSetBuilderRandom;
import io.deephaven.engine.rowset.RowSetFactory;
import io.deephaven.engine.rowset.TrackingWritableRowSet;
import io.deephaven.engine.rowset.WritableRowSet;
import io.deephaven.engine.table.ColumnSource;
import io.deephaven.engine.table.Table;
import io.deephaven.engine.table.impl.QueryTable;
import io.deephaven.engine.table.impl.sources.LongSingleValueSource;
import io.deephaven.engine.table.impl.sources.SparseArrayColumnSource;
import io.deephaven.engine.updategraph.UpdateGraph;
import io.deephaven.util.SafeCloseable;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A live table whose rows are put from outside, applied once per update cycle.
 *
 * <p>Promises: one row per key; a row never goes back to an older version, not even after its deletion; at most `keep`
 * rows, the newest; memory follows the rows that are shown. Data cannot fail it.
 */
public final class LiveRows implements Runnable, AutoCloseable {
    /** A cycle spends at most this on one table, so that a generation being read does not slow the one being shown. */
    private static final long BUDGET_NANOS = 10_000_000L;

    /** Versions remembered of rows that are gone, so that a replay does not bring them back. */
    private static final long DELETED_VERSIONS = 1_000_000;

    private static final Logger LOG = LoggerFactory.getLogger(LiveRows.class);

    private static final int PENDING_ROWS = 50_000;

    private static final class Slot {
        long row;
        long version;
        long addedIn;
        long changedIn;
    }

    private record Batch(List<Row> rows, Map<Integer, Long> positions) {}

    private final Kind[] kinds;
    private final SparseArrayColumnSource<?>[] stores;
    private final SeenRecords seen;
    private final long keep;
    private final boolean reuse;
    private final TrackingWritableRowSet rowSet;
    private final QueryTable table;
    private final ExecutionContext context;
    private final UpdateGraph graph;
    private final LivenessScope scope = new LivenessScope();

    private final LinkedHashMap<String, Slot> slots = new LinkedHashMap<>();
    private final LinkedHashMap<String, Long> deleted = new LinkedHashMap<>();
    private final ArrayDeque<Long> free = new ArrayDeque<>();
    private final Map<Integer, Long> applied = new ConcurrentHashMap<>();
    private final ArrayDeque<Batch> pending = new ArrayDeque<>();
    private int pendingRows;
    private boolean closed;
    private long nextRow;
    private long cycle;

    /**
     * @param generation shown in a last column of that name; negative for a table without one
     * @param keep the most rows it holds; the oldest go first
     * @param reuse whether a removed row's place is taken by the next new one, which suits keyed rows, or new rows
     *     always come last
     */
    LiveRows(
            final ExecutionContext context,
            final String[] names,
            final Kind[] kinds,
            final long generation,
            final long keep,
            final boolean reuse,
            final boolean once) {
        this.context = context;
        this.kinds = kinds;
        this.keep = keep;
        this.reuse = reuse;
        this.seen = once ? new SeenRecords() : null;
        this.stores = new SparseArrayColumnSource<?>[kinds.length];
        this.graph = context.getUpdateGraph();
        // Row sets and columns take their update graph from the context that they are made in.
        try (final SafeCloseable ignored = context.open();
                final SafeCloseable ignored2 = LivenessScopeStack.open(scope, false)) {
            final Map<String, ColumnSource<?>> columns = new LinkedHashMap<>();
            for (int column = 0; column < kinds.length; column++) {
                stores[column] = kinds[column].store();
                stores[column].startTrackingPrevValues();
                columns.put(names[column], kinds[column].shown(stores[column]));
            }
            if (generation >= 0) {
                final LongSingleValueSource number = new LongSingleValueSource();
                number.set(generation);
                columns.put("generation", number);
            }
            rowSet = RowSetFactory.empty().toTracking();
            table = new QueryTable(rowSet, columns);
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

    /** One update cycle. */
    @Override
    public void run() {
        cycle++;
        final long until = System.nanoTime() + BUDGET_NANOS;
        final Changes changes = new Changes();
        do {
            final Batch batch;
            synchronized (pending) {
                batch = pending.poll();
                if (batch == null) {
                    break;
                }
                pendingRows -= batch.rows.size();
                pending.notifyAll();
            }
            for (final Row row : batch.rows) {
                try {
                    changes.apply(row);
                } catch (RuntimeException surprise) {
                    // What leaves a source's run() ends the whole server, and with it every viewer's tables.
                    LOG.error("a row was not applied", surprise);
                }
            }
            applied.putAll(batch.positions);
        } while (System.nanoTime() < until);
        changes.publish();
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

    /** What one cycle changes. */
    private final class Changes {
        private final RowSetBuilderRandom added = RowSetFactory.builderRandom();
        private final RowSetBuilderRandom modified = RowSetFactory.builderRandom();
        private final RowSetBuilderRandom removed = RowSetFactory.builderRandom();
        private final RowSetBuilderRandom addedAndRemoved = RowSetFactory.builderRandom();
        private boolean any;

        void apply(final Row row) {
            if (seen != null && !seen.isNew(row.key)) {
                return;
            }
            if (row.key == null || seen != null) {
                write(append(), row);
            } else if (row.delete) {
                delete(row);
            } else {
                upsert(row);
            }
        }

        private long append() {
            final long at = nextRow++;
            added.addKey(at);
            return at;
        }

        private void upsert(final Row row) {
            final Slot slot = slots.get(row.key);
            if (slot == null) {
                final Long buried = deleted.get(row.key);
                if (buried != null && row.version < buried) {
                    return;
                }
                deleted.remove(row.key);
                final Slot fresh = new Slot();
                fresh.row = free.isEmpty() ? nextRow++ : free.poll();
                fresh.version = row.version;
                fresh.addedIn = cycle;
                slots.put(row.key, fresh);
                added.addKey(fresh.row);
                write(fresh.row, row);
                if (slots.size() > keep) {
                    final Iterator<Slot> oldest = slots.values().iterator();
                    final Slot evicted = oldest.next();
                    oldest.remove();
                    drop(evicted);
                }
            } else if (row.version >= slot.version) {
                slot.version = row.version;
                if (slot.addedIn != cycle && slot.changedIn != cycle) {
                    slot.changedIn = cycle;
                    modified.addKey(slot.row);
                }
                write(slot.row, row);
            }
        }

        private void delete(final Row row) {
            final Slot slot = slots.get(row.key);
            if (slot != null && row.version >= slot.version) {
                slots.remove(row.key);
                drop(slot);
            }
            if (slot == null || row.version >= slot.version) {
                deleted.merge(row.key, row.version, Math::max);
                if (deleted.size() > Math.min(keep, DELETED_VERSIONS)) {
                    final Iterator<Long> oldest = deleted.values().iterator();
                    oldest.next();
                    oldest.remove();
                }
            }
        }

        private void drop(final Slot slot) {
            any = true;
            if (slot.addedIn == cycle) {
                addedAndRemoved.addKey(slot.row);
            } else {
                removed.addKey(slot.row);
            }
        }

        private void write(final long at, final Row row) {
            any = true;
            for (int column = 0; column < stores.length; column++) {
                kinds[column].put(stores[column], at, row.values[column]);
            }
        }

        void publish() {
            if (!any) {
                return;
            }
            final WritableRowSet addedRows = added.build();
            final WritableRowSet removedRows = removed.build();
            final WritableRowSet modifiedRows = modified.build();
            try (final WritableRowSet passing = addedAndRemoved.build()) {
                addedRows.remove(passing);
                modifiedRows.remove(removedRows);
                final long tooMany = slots.isEmpty() ? rowSet.size() + addedRows.size() - keep : 0;
                if (tooMany > 0) {
                    evict(tooMany, addedRows, removedRows, passing);
                }
                rowSet.update(addedRows, removedRows);
                passing.insert(removedRows);
                for (final SparseArrayColumnSource<?> store : stores) {
                    store.setNull(passing);
                }
                if (reuse) {
                    passing.forAllRowKeys(free::add);
                } else {
                    SparseBlocks.free(stores, rowSet, passing);
                }
            }
            if (addedRows.isEmpty() && removedRows.isEmpty() && modifiedRows.isEmpty()) {
                addedRows.close();
                removedRows.close();
                modifiedRows.close();
            } else {
                table.notifyListeners(addedRows, removedRows, modifiedRows);
            }
        }

        /** Appended rows: the lowest are the oldest. */
        private void evict(
                final long count,
                final WritableRowSet addedRows,
                final WritableRowSet removedRows,
                final WritableRowSet passing) {
            final long ofOld = Math.min(count, rowSet.size());
            try (final RowSet old = rowSet.subSetByPositionRange(0, ofOld);
                    final RowSet fresh = addedRows.subSetByPositionRange(0, count - ofOld)) {
                removedRows.insert(old);
                passing.insert(fresh);
                addedRows.remove(fresh);
            }
        }
    }
}
