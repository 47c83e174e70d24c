package pointsman;

import io.deephaven.engine.rowset.RowSet;
import io.deephaven.engine.table.ColumnSource;
import io.deephaven.engine.table.impl.sources.LongSingleValueSource;
import io.deephaven.engine.table.impl.sources.SparseArrayColumnSource;
import java.util.LinkedHashMap;
import java.util.Map;

/** The values of a live table. Make it in the execution context whose update graph the table belongs to. */
final class Columns {
    private final Kind[] kinds;
    private final SparseArrayColumnSource<?>[] stores;

    Columns(final Kind[] kinds) {
        this.kinds = kinds;
        this.stores = new SparseArrayColumnSource<?>[kinds.length];
        for (int column = 0; column < kinds.length; column++) {
            stores[column] = kinds[column].store();
            stores[column].startTrackingPrevValues();
        }
    }

    /** What viewers see, in order. A generation that is not negative has a last column of its own. */
    Map<String, ColumnSource<?>> shown(final String[] names, final long generation) {
        final Map<String, ColumnSource<?>> shown = new LinkedHashMap<>();
        for (int column = 0; column < kinds.length; column++) {
            shown.put(names[column], kinds[column].shown(stores[column]));
        }
        if (generation >= 0) {
            final LongSingleValueSource number = new LongSingleValueSource();
            number.set(generation);
            shown.put("generation", number);
        }
        return shown;
    }

    void write(final long row, final Object[] values) {
        for (int column = 0; column < stores.length; column++) {
            kinds[column].put(stores[column], row, values[column]);
        }
    }

    /** Lets go of what these rows hold. */
    void clear(final RowSet gone) {
        for (final SparseArrayColumnSource<?> store : stores) {
            store.setNull(gone);
        }
    }

    /** Gives back the memory of blocks of rows of which none remains. */
    void free(final RowSet remaining, final RowSet gone) {
        SparseBlocks.free(stores, remaining, gone);
    }
}
