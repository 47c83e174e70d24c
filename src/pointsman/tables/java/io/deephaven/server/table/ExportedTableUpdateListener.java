package io.deephaven.server.table;

import io.deephaven.engine.context.ExecutionContext;
import io.deephaven.engine.liveness.LivenessScopeStack;
import io.deephaven.engine.liveness.LivenessStateException;
import io.deephaven.engine.table.TableUpdate;
import io.deephaven.engine.table.impl.BaseTable;
import io.deephaven.engine.table.impl.InstrumentedTableUpdateListener;
import io.deephaven.engine.table.impl.OperationSnapshotControl;
import io.deephaven.engine.table.impl.UncoalescedTable;
import io.deephaven.extensions.barrage.util.GrpcUtil;
import io.deephaven.internal.log.LoggerFactory;
import io.deephaven.io.logger.Logger;
import io.deephaven.proto.backplane.grpc.ExportNotification;
import io.deephaven.proto.backplane.grpc.ExportedTableUpdateMessage;
import io.deephaven.proto.util.ExportTicketHelper;
import io.deephaven.server.session.SessionService;
import io.deephaven.server.session.SessionState;
import io.deephaven.util.SafeCloseable;
import io.grpc.stub.StreamObserver;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Tells one client the size of every table that it has open. Takes the place of Deephaven's class of this name (it
 * comes first on the class path).
 *
 * <p>There, the thread that exports a table may wait for the update cycle to end, and holds a monitor that the cycle
 * needs to tell of another table: neither goes on, and every table of the server stands still for good. Here a thread
 * of its own waits, holding nothing, and a cycle takes no monitor but that of the stream, for as long as a message is
 * handed over.
 */
public class ExportedTableUpdateListener implements StreamObserver<ExportNotification> {
    /** How the server makes one for each client that asks. */
    public interface Factory {
        ExportedTableUpdateListener create(
                SessionState session, StreamObserver<ExportedTableUpdateMessage> responseObserver);
    }

    private static final Logger LOG = LoggerFactory.getLogger(ExportedTableUpdateListener.class);

    /** Begins to follow tables and ends it, for all clients, in the order in which they were exported and released. */
    private static final ExecutorService TELLER = Executors.newSingleThreadExecutor(task -> {
        final Thread thread = new Thread(task, "ExportedTableUpdateListener");
        thread.setDaemon(true);
        return thread;
    });

    private final SessionState session;
    private final StreamObserver<ExportedTableUpdateMessage> stream;
    private final SessionService.ErrorTransformer errors;
    private final Map<Integer, Sizes> told = new ConcurrentHashMap<>();
    private volatile boolean ended;

    public ExportedTableUpdateListener(
            final SessionState session,
            final StreamObserver<ExportedTableUpdateMessage> responseObserver,
            final SessionService.ErrorTransformer errorTransformer) {
        this.session = session;
        this.stream = responseObserver;
        this.errors = errorTransformer;
    }

    /** An export of the session has changed its state. Whoever calls holds locks, and waits for nothing here. */
    @Override
    public void onNext(final ExportNotification notification) {
        final int id = ExportTicketHelper.ticketToExportId(notification.getTicket(), "ticket");
        if (ended || id == SessionState.NON_EXPORT_ID) {
            return;
        }
        if (notification.getExportState() == ExportNotification.State.EXPORTED) {
            final SessionState.ExportObject<?> export = session.getExport(id);
            if (export.tryRetainReference()) {
                TELLER.execute(() -> exported(id, export));
            }
        } else if (SessionState.isExportStateTerminal(notification.getExportState())) {
            TELLER.execute(() -> forget(told.remove(id)));
        }
    }

    @Override
    public void onError(final Throwable problem) {
        onCompleted();
    }

    @Override
    public void onCompleted() {
        ended = true;
        GrpcUtil.safelyComplete(stream);
        told.keySet().forEach(id -> forget(told.remove(id)));
    }

    private void exported(final int id, final SessionState.ExportObject<?> export) {
        try (final SafeCloseable ignored = LivenessScopeStack.open()) {
            synchronized (export) {
                // Held by whoever exports it until its answer is sent. That has a size too, taken earlier: a client
                // that read it after ours would believe it.
            }
            if (export.get() instanceof BaseTable<?> table && !(table instanceof UncoalescedTable)) {
                try (final SafeCloseable ignored2 = ExecutionContext.getContext()
                        .withUpdateGraph(table.getUpdateGraph())
                        .open()) {
                    follow(id, table);
                }
            }
        } catch (final LivenessStateException ignored) {
            // it was released meanwhile
        } catch (final RuntimeException problem) {
            LOG.error().append("the size of export ").append(id).append(" cannot be told: ").append(problem).endl();
        } finally {
            export.dropReference();
        }
    }

    private void follow(final int id, final BaseTable<?> table) {
        if (!table.isRefreshing()) {
            send(id, table.size(), null);
            return;
        }
        final Sizes sizes = new Sizes(id, table);
        sizes.retainReference();
        if (told.putIfAbsent(id, sizes) != null) {
            sizes.dropReference();
            return;
        }
        try {
            sizes.begin();
        } catch (final RuntimeException problem) {
            send(id, -1, errors.transform(problem));
        }
        if (ended) {
            forget(told.remove(id));
        }
    }

    private static void forget(final Sizes sizes) {
        if (sizes != null) {
            sizes.dropReference();
        }
    }

    private void send(final int id, final long size, final Throwable problem) {
        final ExportedTableUpdateMessage.Builder message = ExportedTableUpdateMessage.newBuilder()
                .setExportId(ExportTicketHelper.wrapExportIdInTicket(id))
                .setSize(size);
        if (problem != null) {
            message.setUpdateFailureMessage(String.valueOf(problem.getMessage()));
        }
        synchronized (stream) {
            if (ended) {
                return;
            }
            try {
                stream.onNext(message.build());
            } catch (final RuntimeException gone) {
                // The client is no longer there; the session ends this listener when it learns of it.
                ended = true;
            }
        }
    }

    /** Follows the size of one table. */
    private final class Sizes extends InstrumentedTableUpdateListener {
        private final int id;
        private final BaseTable<?> table;
        private boolean ticked;

        private Sizes(final int id, final BaseTable<?> table) {
            super("ExportedTableUpdateListener (" + id + ")");
            this.id = id;
            this.table = table;
            manage(table);
        }

        /** Listens from now on, and tells how large the table is now unless a cycle was quicker to. */
        private void begin() {
            final OperationSnapshotControl control = new OperationSnapshotControl(table);
            final long[] size = new long[1];
            BaseTable.initializeWithSnapshot("ExportedTableUpdateListener", control, (usePrevious, clock) -> {
                control.setListenerAndResult(this, step -> {});
                size[0] = usePrevious ? table.getRowSet().sizePrev() : table.getRowSet().size();
                return true;
            });
            synchronized (stream) {
                if (!ticked) {
                    send(id, size[0], null);
                }
            }
        }

        @Override
        public void onUpdate(final TableUpdate update) {
            synchronized (stream) {
                ticked = true;
                send(id, table.size(), null);
            }
        }

        @Override
        public void onFailureInternal(final Throwable error, final Entry source) {
            send(id, table.size(), errors.transform(error));
        }

        @Override
        public void destroy() {
            super.destroy();
            table.removeUpdateListener(this);
        }
    }
}
