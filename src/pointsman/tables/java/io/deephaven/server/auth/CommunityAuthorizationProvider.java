package io.deephaven.server.auth;

import io.deephaven.auth.AuthContext;
import io.deephaven.auth.ServiceAuthWiring;
import io.deephaven.auth.codegen.impl.ConsoleServiceAuthWiring;
import io.deephaven.auth.codegen.impl.InputTableServiceContextualAuthWiring;
import io.deephaven.auth.codegen.impl.StorageServiceAuthWiring;
import io.deephaven.proto.backplane.grpc.CreateDirectoryRequest;
import io.deephaven.proto.backplane.grpc.DeleteItemRequest;
import io.deephaven.proto.backplane.grpc.MoveItemRequest;
import io.deephaven.proto.backplane.grpc.SaveFileRequest;
import io.deephaven.proto.backplane.script.grpc.AutoCompleteRequest;
import io.deephaven.proto.backplane.script.grpc.BindTableToVariableRequest;
import io.deephaven.proto.backplane.script.grpc.ExecuteCommandRequest;
import io.deephaven.proto.backplane.script.grpc.LogSubscriptionRequest;
import io.deephaven.proto.backplane.script.grpc.StartConsoleRequest;
import io.deephaven.server.session.ExportTicketResolver;
import io.deephaven.server.session.NoopTicketResolverAuthorization;
import io.deephaven.server.session.TicketResolver;
import java.nio.ByteBuffer;
import javax.inject.Inject;
import org.apache.arrow.flight.impl.Flight;

/**
 * What a viewer may do: look. Takes the place of Deephaven's class of this name, which permits everything and is the
 * one point where the community server decides (it comes first on the class path).
 *
 * <p>Turning the console off is not enough: a client can still bind a table to a variable of the server's scope, where
 * it stands beside the real ones under the same name, and write files that other viewers' pages load.
 */
public class CommunityAuthorizationProvider extends AllowAllAuthorizationProvider {
    private static final boolean CONSOLE = !Boolean.getBoolean("deephaven.console.disable");

    @Inject
    public CommunityAuthorizationProvider() {}

    @Override
    public ConsoleServiceAuthWiring getConsoleServiceAuthWiring() {
        return CONSOLE ? super.getConsoleServiceAuthWiring() : new NoConsole();
    }

    @Override
    public StorageServiceAuthWiring getStorageServiceAuthWiring() {
        return CONSOLE ? super.getStorageServiceAuthWiring() : new ReadOnlyStorage();
    }

    @Override
    public InputTableServiceContextualAuthWiring getInputTableServiceContextualAuthWiring() {
        return CONSOLE
                ? super.getInputTableServiceContextualAuthWiring()
                : new InputTableServiceContextualAuthWiring.DenyAll();
    }

    @Override
    public TicketResolver.Authorization getTicketResolverAuthorization() {
        return CONSOLE ? super.getTicketResolverAuthorization() : new OwnTicketsOnly();
    }

    private static void refuse(final String what) {
        ServiceAuthWiring.operationNotAllowed(what + " is not permitted here: viewers may only look");
    }

    private static final class NoConsole extends ConsoleServiceAuthWiring.AllowAll {
        @Override
        public void onMessageReceivedStartConsole(final AuthContext who, final StartConsoleRequest request) {
            refuse("a console");
        }

        @Override
        public void onMessageReceivedExecuteCommand(final AuthContext who, final ExecuteCommandRequest request) {
            refuse("running code");
        }

        @Override
        public void onMessageReceivedBindTableToVariable(
                final AuthContext who, final BindTableToVariableRequest request) {
            refuse("binding a variable");
        }

        @Override
        public void onMessageReceivedSubscribeToLogs(final AuthContext who, final LogSubscriptionRequest request) {
            refuse("reading the server's log");
        }

        @Override
        public void onCallStartedAutoCompleteStream(final AuthContext who) {
            refuse("code completion");
        }

        @Override
        public void onMessageReceivedOpenAutoCompleteStream(final AuthContext who, final AutoCompleteRequest request) {
            refuse("code completion");
        }
    }

    private static final class ReadOnlyStorage extends StorageServiceAuthWiring.AllowAll {
        @Override
        public void onMessageReceivedSaveFile(final AuthContext who, final SaveFileRequest request) {
            refuse("saving a file");
        }

        @Override
        public void onMessageReceivedMoveItem(final AuthContext who, final MoveItemRequest request) {
            refuse("moving a file");
        }

        @Override
        public void onMessageReceivedCreateDirectory(final AuthContext who, final CreateDirectoryRequest request) {
            refuse("making a folder");
        }

        @Override
        public void onMessageReceivedDeleteItem(final AuthContext who, final DeleteItemRequest request) {
            refuse("deleting a file");
        }
    }

    /** A viewer may publish to its own session's tickets, which nobody else can name, and to no others. */
    private static final class OwnTicketsOnly extends NoopTicketResolverAuthorization {
        @Override
        public void authorizePublishRequest(final TicketResolver resolver, final ByteBuffer ticket) {
            if (!(resolver instanceof ExportTicketResolver)) {
                refuse("publishing");
            }
        }

        @Override
        public void authorizePublishRequest(final TicketResolver resolver, final Flight.FlightDescriptor descriptor) {
            if (!(resolver instanceof ExportTicketResolver)) {
                refuse("publishing");
            }
        }
    }
}
