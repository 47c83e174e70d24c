package pointsman;

import io.deephaven.server.runner.DeephavenApiServer;
import io.deephaven.server.session.SessionState;
import io.deephaven.util.datastructures.SimpleReferenceManager;
import java.lang.reflect.Field;
import java.util.Map;

/**
 * How many are looking: sessions that have a stream of updates open.
 *
 * <p>A session alone is not enough: that of a script that looks now and then follows nothing. Whoever leaves without a
 * goodbye, as a closed browser tab does, counts until the session ends: Deephaven itself goes on sending until then.
 * It keeps both to itself, hence the reflection.
 */
public final class Viewers {
    private Viewers() {}

    /** -1 where this version of Deephaven does not let itself be asked. */
    public static int count() {
        try {
            final Object sessions =
                    inside(DeephavenApiServer.getInstance().sessionService(), "tokensBySession");
            int viewers = 0;
            for (final Object session : ((Map<?, ?>) sessions).keySet().toArray()) {
                final Object streams = inside(session, "onCloseCallbacks");
                synchronized (streams) { // as Deephaven itself does: counting tidies up
                    if (!((SessionState) session).isExpired() && !((SimpleReferenceManager<?, ?>) streams).isEmpty()) {
                        viewers++;
                    }
                }
            }
            return viewers;
        } catch (ReflectiveOperationException | RuntimeException unknown) {
            return -1;
        }
    }

    private static Object inside(final Object owner, final String name) throws ReflectiveOperationException {
        final Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }
}
