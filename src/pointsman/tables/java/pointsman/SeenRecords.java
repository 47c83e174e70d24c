package pointsman;

import java.util.HashMap;
import java.util.Map;
import org.roaringbitmap.longlong.Roaring64Bitmap;

/**
 * Which source records a view has had, so that a replay shows no row twice.
 *
 * <p>Exact, and small: offsets come in runs, so a partition costs a few bytes per run and not one per record.
 */
final class SeenRecords {
    private static final int OPTIMIZE_EVERY = 1 << 18;

    private final Map<String, Roaring64Bitmap> offsets = new HashMap<>();
    private int added;

    /** True the first time; false for a key seen before and for one that is not `topic-partition-offset`. */
    boolean isNew(final String key) {
        final int dash = key.lastIndexOf('-');
        if (dash <= 0) {
            return false;
        }
        final long offset;
        try {
            offset = Long.parseLong(key, dash + 1, key.length(), 10);
        } catch (NumberFormatException notAPosition) {
            return false;
        }
        final Roaring64Bitmap seen = offsets.computeIfAbsent(key.substring(0, dash), partition -> new Roaring64Bitmap());
        if (seen.contains(offset)) {
            return false;
        }
        seen.addLong(offset);
        if (++added % OPTIMIZE_EVERY == 0) {
            offsets.values().forEach(Roaring64Bitmap::runOptimize);
        }
        return true;
    }
}
