package pointsman;

import io.deephaven.engine.rowset.RowSet;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.LinkedHashMap;

/**
 * Which row of the table each key has, and how new it is.
 *
 * <p>Promises: one row per key; never back to an older version, not even after a deletion; at most `keep` keys, the
 * newest.
 */
final class Places {
    /** Versions remembered of rows that are gone, so that a replay does not bring them back. */
    private static final long DELETED_VERSIONS = 1_000_000;

    private static final class Place {
        final long row;
        long version;

        Place(final long row, final long version) {
            this.row = row;
            this.version = version;
        }
    }

    private final LinkedHashMap<String, Place> places = new LinkedHashMap<>();
    private final LinkedHashMap<String, Long> deleted = new LinkedHashMap<>();
    private final ArrayDeque<Long> free = new ArrayDeque<>();
    private final long keep;
    private long nextRow;

    Places(final long keep) {
        this.keep = keep;
    }

    /** A row that no key has, after all others. */
    long append(final Changes changes) {
        final long row = nextRow++;
        changes.add(row);
        return row;
    }

    /** The row to write a key's new values to; negative where they are older than what was shown. */
    long put(final String key, final long version, final Changes changes) {
        final Place place = places.get(key);
        if (place == null) {
            return arrive(key, version, changes);
        }
        if (version < place.version) {
            return -1;
        }
        place.version = version;
        changes.modify(place.row);
        return place.row;
    }

    private long arrive(final String key, final long version, final Changes changes) {
        final Long buried = deleted.get(key);
        if (buried != null) {
            if (version < buried) {
                return -1;
            }
            deleted.remove(key);
        }
        final long row = free.isEmpty() ? nextRow++ : free.poll();
        places.put(key, new Place(row, version));
        changes.add(row);
        if (places.size() > keep) {
            final Iterator<Place> oldest = places.values().iterator();
            changes.remove(oldest.next().row);
            oldest.remove();
        }
        return row;
    }

    void remove(final String key, final long version, final Changes changes) {
        final Place place = places.get(key);
        if (place != null) {
            if (version < place.version) {
                return;
            }
            places.remove(key);
            changes.remove(place.row);
        }
        deleted.merge(key, version, Math::max);
        if (deleted.size() > Math.min(keep, DELETED_VERSIONS)) {
            final Iterator<Long> oldest = deleted.values().iterator();
            oldest.next();
            oldest.remove();
        }
    }

    /** New keys may have these rows. */
    void reuse(final RowSet rows) {
        rows.forAllRowKeys(free::add);
    }
}
