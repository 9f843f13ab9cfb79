package io.rdma4j.tools.top;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import io.rdma4j.monitor.Monitor;
import io.rdma4j.monitor.MonitorConfig;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;

/** Finds a monitor by its URL, or by the process it runs in. */
final class MonitorAddress {
  private static final String EXPECTED =
      "a monitor has a URL (http://HOST:PORT/), HOST:PORT, or the number of its process";

  private MonitorAddress() {}

  /**
   * Returns the address of a monitor.
   *
   * @param target URL, {@code host:port}, a host with a monitor at its usual port, or a process id
   * @throws IOException when it is none of these, or the process can not be asked, or runs no
   *     monitor
   */
  static URI of(String target) throws IOException {
    if (!target.isEmpty() && target.chars().allMatch(Character::isDigit)) {
      return ofProcess(target);
    }
    try {
      URI given = new URI(target.contains("://") ? target : "http://" + target);
      if (given.getHost() == null) {
        throw new IOException("'" + target + "' names no host; " + EXPECTED);
      }
      return given.getPort() >= 0
          ? given
          : new URI(
              given.getScheme(),
              null,
              given.getHost(),
              MonitorConfig.DEFAULT_PORT,
              given.getPath(),
              null,
              null);
    } catch (URISyntaxException e) {
      throw new IOException("'" + target + "' is no address; " + EXPECTED, e);
    }
  }

  private static URI ofProcess(String pid) throws IOException {
    try {
      VirtualMachine machine = attach(pid);
      try {
        String url = machine.getSystemProperties().getProperty(Monitor.URL_PROPERTY);
        if (url == null) {
          throw new IOException("process " + pid + " runs no monitor");
        }
        return URI.create(url);
      } finally {
        machine.detach();
      }
    } catch (AttachNotSupportedException e) {
      throw notAsked(pid, e);
    }
  }

  private static VirtualMachine attach(String pid) throws IOException, AttachNotSupportedException {
    try {
      return VirtualMachine.attach(pid);
    } catch (IOException e) {
      throw notAsked(pid, e);
    }
  }

  private static IOException notAsked(String pid, Exception cause) {
    return new IOException(
        "process %s can not be asked (%s): is it a Java process of this user? Its monitor's URL will"
                .formatted(pid, cause.getMessage())
            + " do as well",
        cause);
  }
}
