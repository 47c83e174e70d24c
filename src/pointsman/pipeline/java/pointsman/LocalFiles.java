package pointsman;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The local disk as Hadoop sees it, without a process started for every file.
 *
 * <p>Where Hadoop's native library is missing, which is everywhere but on a Hadoop machine, it runs {@code chmod} for
 * each file it makes. A checkpoint makes dozens, while the join stands still.
 */
public final class LocalFiles extends LocalFileSystem {
    public LocalFiles() {
        super(new Raw());
    }

    private static final class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
            String symbols = permission.toString().replace('t', 'x').replace('T', '-');
            Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(symbols));
        }
    }
}
