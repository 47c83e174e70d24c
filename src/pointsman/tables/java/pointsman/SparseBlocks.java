package pointsman;

import io.deephaven.engine.rowset.RowSet;
import io.deephaven.engine.rowset.RowSetBuilderSequential;
import io.deephaven.engine.rowset.RowSetFactory;
import io.deephaven.engine.table.impl.sources.SparseArrayColumnSource;
import io.deephaven.engine.table.impl.sources.sparse.SparseConstants;

/** Gives back the memory of blocks that no row uses any more, at the end of the cycle. */
final class SparseBlocks {
    private static final int LEVEL_0 = SparseConstants.LOG_BLOCK_SIZE;
    private static final int LEVEL_1 = LEVEL_0 + SparseConstants.LOG_BLOCK2_SIZE;
    private static final int LEVEL_2 = LEVEL_1 + SparseConstants.LOG_BLOCK1_SIZE;

    private SparseBlocks() {}

    static void free(final SparseArrayColumnSource<?>[] stores, final RowSet remaining, final RowSet gone) {
        if (gone.isEmpty()) {
            return;
        }
        try (final RowSet blocks = emptied(remaining, gone, LEVEL_0);
                final RowSet blocks2 = emptied(remaining, gone, LEVEL_1);
                final RowSet blocks1 = emptied(remaining, gone, LEVEL_2)) {
            if (blocks.isNonempty()) {
                for (final SparseArrayColumnSource<?> store : stores) {
                    store.clearBlocks(blocks, blocks2, blocks1, remaining.isEmpty());
                }
            }
        }
    }

    private static RowSet emptied(final RowSet remaining, final RowSet gone, final int logSize) {
        final long size = 1L << logSize;
        final RowSetBuilderSequential blocks = RowSetFactory.builderSequential();
        try (final RowSet.SearchIterator left = remaining.searchIterator();
                final RowSet.SearchIterator cleared = gone.searchIterator()) {
            long next = 0;
            while (cleared.advance(next)) {
                final long start = cleared.currentValue() & -size;
                next = start + size;
                if (!left.advance(start) || left.currentValue() >= next) {
                    blocks.appendKey(start >> logSize);
                }
            }
        }
        return blocks.build();
    }
}
