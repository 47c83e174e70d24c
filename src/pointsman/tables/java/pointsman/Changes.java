package pointsman;

import io.deephaven.engine.rowset.RowSet;
import io.deephaven.engine.rowset.RowSetBuilderRandom;
import io.deephaven.engine.rowset.RowSetFactory;
import io.deephaven.engine.rowset.WritableRowSet;

/** The rows that one update cycle touches. A row may be named any number of times, in any way. */
final class Changes {
    private final RowSetBuilderRandom added = RowSetFactory.builderRandom();
    private final RowSetBuilderRandom modified = RowSetFactory.builderRandom();
    private final RowSetBuilderRandom removed = RowSetFactory.builderRandom();
    private boolean any;

    /**
     * What those changes come to. Nothing is in two of the first three; `gone` are the rows that no longer have contents:
     * the removed ones, and those that came and went in the same cycle, of which nobody hears.
     */
    record Sum(WritableRowSet added, WritableRowSet removed, WritableRowSet modified, WritableRowSet gone) {
        boolean isSilent() {
            return added.isEmpty() && removed.isEmpty() && modified.isEmpty();
        }
    }

    void add(final long row) {
        any = true;
        added.addKey(row);
    }

    void modify(final long row) {
        any = true;
        modified.addKey(row);
    }

    void remove(final long row) {
        any = true;
        removed.addKey(row);
    }

    boolean isEmpty() {
        return !any;
    }

    /** Call it once. Of more than `keep` rows the lowest go: where rows are only appended, those are the oldest. */
    Sum sum(final RowSet before, final long keep) {
        final WritableRowSet arrived = added.build();
        final WritableRowSet gone = removed.build();
        final long tooMany = before.size() + arrived.size() - gone.size() - keep;
        if (tooMany > 0) {
            final long ofOld = Math.min(tooMany, before.size());
            try (final RowSet old = before.subSetByPositionRange(0, ofOld);
                    final RowSet fresh = arrived.subSetByPositionRange(0, tooMany - ofOld)) {
                gone.insert(old);
                gone.insert(fresh);
            }
        }
        final WritableRowSet changed = modified.build();
        changed.remove(arrived);
        changed.remove(gone);
        final WritableRowSet left = gone.minus(arrived);
        arrived.remove(gone);
        return new Sum(arrived, left, changed, gone);
    }
}
