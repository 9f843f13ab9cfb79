package io.rdma4j.verbs.ffi;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Tells which provider library a function belongs to, and so whether a post stays in user space.
 *
 * <p>The library that holds the code decides, not the name of the device, which an administrator
 * may have changed, nor its PCI parent, which a software device may share with a NIC.
 */
final class UserSpaceProviders {
  /** Libraries that post by writing to mapped queues and a doorbell register. */
  private static final Pattern LIBRARY =
      Pattern.compile("lib(mlx4|mlx5|bnxt_re|cxgb4|efa|erdma|hns|irdma|mana|ocrdma|qedr)[-.].*");

  private static final Pattern MAPPING =
      Pattern.compile("([0-9a-f]+)-([0-9a-f]+) \\S+ \\S+ \\S+ \\S+ +(/.*)");

  private UserSpaceProviders() {}

  /** Returns true when the function at this address is known to post without a system call. */
  static boolean contains(long function) {
    try {
      return contains(function, Files.readAllLines(Path.of("/proc/self/maps")));
    } catch (IOException e) {
      throw new UncheckedIOException("/proc/self/maps cannot be read", e);
    }
  }

  static boolean contains(long function, List<String> maps) {
    for (String line : maps) {
      Matcher mapping = MAPPING.matcher(line);
      if (mapping.matches()
          && Long.compareUnsigned(function, Long.parseUnsignedLong(mapping.group(1), 16)) >= 0
          && Long.compareUnsigned(function, Long.parseUnsignedLong(mapping.group(2), 16)) < 0) {
        String path = mapping.group(3);
        return LIBRARY.matcher(path.substring(path.lastIndexOf('/') + 1)).matches();
      }
    }
    return false;
  }
}
