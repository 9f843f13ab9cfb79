package io.rdma4j.provider.shm;

import io.rdma4j.Availability;
import io.rdma4j.os.HostIdentity;
import io.rdma4j.os.ProcessIdentity;
import io.rdma4j.os.SharedFile;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Handshake;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.Provider;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Messages between processes of one host through shared memory.
 *
 * <p>The initiator makes the file, in memory alone (memfd) or in a configured directory, and names
 * it to the acceptor. A directory serves processes that share a host and a directory but not their
 * process numbers, as containers may.
 *
 * <p>The peer is trusted as far as the operating system lets it in (same user, or root): what it
 * writes into the rings is checked, but a file in a directory can be cut short by its owner, which
 * an anonymous one can not.
 *
 * <p>Safe for use by several threads.
 */
public final class ShmProvider implements Provider {
  /** System property that names a directory for ring files; without it they are anonymous. */
  public static final String DIRECTORY_PROPERTY = "rdma4j.shm.directory";

  private static final System.Logger LOG = System.getLogger("io.rdma4j.provider.shm");
  private static final String MEMFD_NAME = "rdma4j-ring";
  private static final long PROBE_BYTES = 4096;

  private final @Nullable ShmDirectory directory;
  private final Availability availability;
  private final @Nullable Here here;

  /** Where this process is. */
  private record Here(HostIdentity host, ProcessIdentity process) {}

  /** Uses the directory of {@link #DIRECTORY_PROPERTY}, or anonymous files when it is not set. */
  public ShmProvider() {
    this(configuredDirectory());
  }

  /**
   * Uses ring files in a directory, after removing those of processes that have ended.
   *
   * @param directory null for anonymous files
   */
  public ShmProvider(@Nullable Path directory) {
    this.directory = directory == null ? null : new ShmDirectory(directory);
    Here found = null;
    Availability state;
    try {
      found = new Here(HostIdentity.current(), ProcessIdentity.current());
      state = this.directory == null ? probeAnonymous() : prepare(this.directory);
    } catch (IOException e) {
      state = Availability.unusable("shared memory needs Linux with /proc: " + e);
    }
    here = found;
    availability = state;
  }

  private static @Nullable Path configuredDirectory() {
    String directory = System.getProperty(DIRECTORY_PROPERTY, "");
    return directory.isEmpty() ? null : Path.of(directory);
  }

  /** Makes a small file: a system call filter or a denied native access shows here and now. */
  private static Availability probeAnonymous() {
    try {
      SharedFile.anonymous(MEMFD_NAME, PROBE_BYTES).close();
      return Availability.usable("shared memory in anonymous files (memfd)");
    } catch (IOException | LinkageError e) {
      return Availability.unusable("no anonymous shared memory: " + e);
    }
  }

  private static Availability prepare(ShmDirectory directory) {
    Path path = directory.path();
    if (!Files.isDirectory(path) || !Files.isWritable(path)) {
      return Availability.unusable(
          DIRECTORY_PROPERTY + " " + path + " is not a directory this process may write to");
    }
    try {
      directory.removeLeftovers(Instant.now());
    } catch (IOException e) {
      LOG.log(Level.WARNING, "leftover ring files remain in " + path, e);
    }
    return Availability.usable("shared memory in files of " + path);
  }

  @Override
  public String name() {
    return "shm";
  }

  @Override
  public Availability availability() {
    return availability;
  }

  @Override
  public List<MemoryRegistrar> registrars() {
    return List.of();
  }

  @Override
  public byte[] offer() {
    return here == null ? new byte[0] : new ShmWire.Offer(directory != null, here.host()).encode();
  }

  @Override
  public Availability judge(byte[] peerOffer) {
    if (here == null || !availability.usable()) {
      return availability;
    }
    ShmWire.Offer offer;
    try {
      offer = ShmWire.Offer.decode(peerOffer);
    } catch (IOException e) {
      return Availability.unusable(String.valueOf(e.getMessage()));
    }
    HostIdentity host = here.host();
    if (!offer.host().bootId().equals(host.bootId())) {
      return Availability.unusable("the peer is on another host: its boot id differs");
    }
    if (offer.host().pidNamespace() != host.pidNamespace()
        && !(offer.hasDirectory() && directory != null)) {
      return Availability.unusable(
          "the peer is in another pid namespace; set "
              + DIRECTORY_PROPERTY
              + " on both sides to a directory they share");
    }
    return Availability.usable("the peer is on this host");
  }

  @Override
  public Endpoint initiate(Handshake handshake, EndpointConfig config) throws IOException {
    Here self = here();
    if (directory == null) {
      try (SharedFile file = SharedFile.anonymous(MEMFD_NAME, ShmFile.fileBytes(config))) {
        return invite(handshake, config, self, file, "");
      }
    }
    Path path = directory.newName(self.process());
    try (SharedFile file = SharedFile.create(path, ShmFile.fileBytes(config))) {
      return invite(handshake, config, self, file, path.toString());
    } finally {
      removeName(path);
    }
  }

  private static void removeName(Path path) {
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      LOG.log(Level.WARNING, path + " remains until the next start", e);
    }
  }

  private Endpoint invite(
      Handshake handshake, EndpointConfig config, Here self, SharedFile file, String path)
      throws IOException {
    ShmFile mapped = ShmFile.initiate(file, config, handshake.token());
    try {
      ShmWire.Invitation invitation =
          new ShmWire.Invitation(
              self.process(),
              self.host().pidNamespace(),
              ShmFile.ringBytes(config),
              config.maxMessageBytes(),
              path.isEmpty() ? file.fd() : -1,
              path);
      byte[] message = invitation.encode();
      if (message.length > Handshake.MAX_MESSAGE_BYTES) {
        throw new IOException(
            path
                + " is too long: an invitation has at most "
                + Handshake.MAX_MESSAGE_BYTES
                + " bytes, this one "
                + message.length);
      }
      handshake.send(message);
      ShmWire.Answer answer = ShmWire.Answer.decode(handshake.receive());
      return endpoint(mapped, config, self, answer.process(), answer.pidNamespace(), path);
    } catch (IOException | RuntimeException | Error e) {
      mapped.close();
      throw e;
    }
  }

  @Override
  public Endpoint accept(Handshake handshake, EndpointConfig config) throws IOException {
    Here self = here();
    ShmWire.Invitation invitation = ShmWire.Invitation.decode(handshake.receive());
    if (invitation.ringBytes() != ShmFile.ringBytes(config)
        || invitation.maxMessageBytes() != config.maxMessageBytes()) {
      throw new IOException(
          "the peer made rings of "
              + invitation.ringBytes()
              + " bytes for messages of "
              + invitation.maxMessageBytes()
              + ", agreed were "
              + ShmFile.ringBytes(config)
              + " and "
              + config.maxMessageBytes());
    }
    ShmFile mapped;
    try (SharedFile file = open(invitation, self)) {
      mapped = ShmFile.accept(file, config, handshake.token());
    }
    try {
      handshake.send(new ShmWire.Answer(self.process(), self.host().pidNamespace()).encode());
      return endpoint(
          mapped, config, self, invitation.process(), invitation.pidNamespace(), invitation.path());
    } catch (IOException | RuntimeException | Error e) {
      mapped.close();
      throw e;
    }
  }

  private static SharedFile open(ShmWire.Invitation invitation, Here self) throws IOException {
    if (!invitation.path().isEmpty()) {
      return ShmDirectory.open(invitation.path());
    }
    ProcessIdentity owner = invitation.process();
    if (invitation.pidNamespace() != self.host().pidNamespace() || !owner.isAlive()) {
      throw new IOException("the peer's process " + owner.pid() + " cannot be seen from here");
    }
    return SharedFile.openAnonymous(owner.pid(), invitation.fd(), MEMFD_NAME);
  }

  private static ShmEndpoint endpoint(
      ShmFile mapped,
      EndpointConfig config,
      Here self,
      ProcessIdentity peer,
      long peerPidNamespace,
      String path) {
    boolean visible = peerPidNamespace == self.host().pidNamespace();
    String description =
        "shm "
            + (path.isEmpty() ? "memfd" : path)
            + ", rings of "
            + ShmFile.ringBytes(config)
            + " bytes, peer process "
            + peer.pid();
    return new ShmEndpoint(mapped, config, description, visible ? peer : null);
  }

  private Here here() throws IOException {
    if (here == null || !availability.usable()) {
      throw new IOException(availability.reason());
    }
    return here;
  }

  @Override
  public void close() {}
}
