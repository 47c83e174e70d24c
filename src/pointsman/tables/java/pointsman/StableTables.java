package pointsman;

import io.deephaven.engine.context.ExecutionContext;
import io.deephaven.engine.liveness.LivenessScope;
import io.deephaven.engine.liveness.LivenessScopeStack;
import io.deephaven.engine.rowset.RowSetFactory;
import io.deephaven.engine.rowset.TrackingWritableRowSet;
import io.deephaven.engine.rowset.WritableRowSet;
import io.deephaven.engine.table.PartitionedTableFactory;
import io.deephaven.engine.table.Table;
import io.deephaven.engine.table.TableDefinition;
import io.deephaven.engine.table.impl.QueryTable;
import io.deephaven.engine.table.impl.sources.ObjectSparseArraySource;
import io.deephaven.engine.updategraph.UpdateGraph;
import io.deephaven.util.SafeCloseable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The tables that viewers open: their objects live as long as the server, their contents switch.
 *
 * <p>Each is the merge of a partitioned table with at most one constituent. {@link #show} replaces the constituents of
 * all of them in one update cycle: a removal and an addition each, since Deephaven 42 cannot take a constituent that is
 * modified in place.
 */
public final class StableTables implements Runnable {
    private static final class Stable {
        final TrackingWritableRowSet rows = RowSetFactory.empty().toTracking();
        final ObjectSparseArraySource<Table> constituents = new ObjectSparseArraySource<>(Table.class);
        QueryTable partitions;
        Table merged;
    }

    private final Map<String, Stable> tables = new LinkedHashMap<>();
    private final ExecutionContext context;
    private final UpdateGraph graph;
    private final LivenessScope scope = new LivenessScope();
    private Map<String, Table> wanted;
    private long nextRow;
    private long cycle;
    private long switchedIn;
    private volatile boolean onScreen;

    public StableTables(final ExecutionContext context) {
        this.context = context;
        this.graph = context.getUpdateGraph();
        graph.addSource(this);
    }

    /** Makes one; it is empty until something is shown. */
    public Table add(final String name, final TableDefinition definition) {
        final Stable stable;
        try (final SafeCloseable ignored = context.open();
                final SafeCloseable ignored2 = LivenessScopeStack.open(scope, false)) {
            stable = new Stable();
            stable.constituents.startTrackingPrevValues();
            stable.partitions = new QueryTable(stable.rows, new LinkedHashMap<>(Map.of("T", stable.constituents)));
            stable.partitions.setRefreshing(true);
            scope.manage(stable.partitions);
            stable.merged = graph.sharedLock()
                    .computeLocked(() -> PartitionedTableFactory.of(
                                    stable.partitions, List.of(), true, "T", definition, true)
                            .merge());
            scope.manage(stable.merged);
        }
        synchronized (this) {
            tables.put(name, stable);
        }
        return stable.merged;
    }

    /** From the next cycle on, these are what the stable tables of these names hold: all of them, at once. */
    public synchronized void show(final Map<String, Table> contents) {
        wanted = Map.copyOf(contents);
        graph.requestRefresh();
    }

    /** True when the last `show` has been done and its cycle is over: what was shown before may be released. */
    public synchronized boolean isSettled() {
        return wanted == null && cycle > switchedIn + 1;
    }

    /** Whether anything has been shown yet. */
    boolean isOnScreen() {
        return onScreen;
    }

    @Override
    public synchronized void run() {
        cycle++;
        if (wanted == null) {
            return;
        }
        for (final Map.Entry<String, Stable> entry : tables.entrySet()) {
            replace(entry.getValue(), wanted.get(entry.getKey()));
        }
        switchedIn = cycle;
        wanted = null;
        onScreen = true;
    }

    private void replace(final Stable stable, final Table content) {
        final WritableRowSet removed = stable.rows.copy();
        final WritableRowSet added = RowSetFactory.empty();
        stable.constituents.setNull(removed);
        if (content != null) {
            stable.constituents.set(nextRow, content);
            added.insert(nextRow++);
        }
        if (added.isEmpty() && removed.isEmpty()) {
            return;
        }
        stable.rows.update(added, removed);
        stable.partitions.notifyListeners(added, removed, RowSetFactory.empty());
    }
}
