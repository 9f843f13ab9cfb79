package io.rdma4j.tools.top;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import io.rdma4j.monitor.Monitor;
import java.io.IOException;
import java.net.URI;

/** Finds a monitor by its URL, or by the process it runs in. */
final class MonitorAddress {
  private MonitorAddress() {}

  /**
   * Returns the address of a monitor.
   *
   * @param target URL, {@code host:port}, or a process id
   * @throws IOException when the process can not be asked, or runs no monitor
   */
  static URI of(String target) throws IOException {
    if (target.chars().allMatch(Character::isDigit)) {
      return ofProcess(target);
    }
    return URI.create(target.contains("://") ? target : "http://" + target);
  }

  private static URI ofProcess(String pid) throws IOException {
    try {
      VirtualMachine machine = VirtualMachine.attach(pid);
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
      throw new IOException(
          "process " + pid + " can not be asked, give the URL of its monitor: " + e.getMessage(),
          e);
    }
  }
}
