package io.rdma4j.stress;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The bytes of the compiled code, by address, of a process that runs under valgrind.
 *
 * <p>A file has, for each range of memory that is writable and executable (in a JVM the code cache
 * is): start address, length, bytes.
 */
final class CodeImage {
  private static final int LOCK = 0xf0;

  /** From here on lies what valgrind makes of the code; the code itself lies below. */
  private static final long VALGRIND = 0x10_0000_0000L;

  private final NavigableMap<Long, byte[]> ranges;

  private CodeImage(NavigableMap<Long, byte[]> ranges) {
    this.ranges = ranges;
  }

  /** Writes the calling process's own code. */
  static void write(Path file) throws IOException {
    try (DataOutputStream out = new DataOutputStream(Files.newOutputStream(file));
        RandomAccessFile memory = new RandomAccessFile("/proc/self/mem", "r")) {
      for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
        String[] fields = line.split(" ", 3);
        String[] bounds = fields[0].split("-", 2);
        long start = Long.parseUnsignedLong(bounds[0], 16);
        if (fields[1].startsWith("rwx") && start < VALGRIND) {
          byte[] bytes = new byte[Math.toIntExact(Long.parseLong(bounds[1], 16) - start)];
          memory.seek(start);
          memory.readFully(bytes);
          out.writeLong(start);
          out.writeInt(bytes.length);
          out.write(bytes);
        }
      }
    }
  }

  static CodeImage read(Path file) throws IOException {
    TreeMap<Long, byte[]> ranges = new TreeMap<>();
    try (DataInputStream in = new DataInputStream(Files.newInputStream(file))) {
      while (in.available() > 0) {
        long start = in.readLong();
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        ranges.put(start, bytes);
      }
    }
    return new CodeImage(ranges);
  }

  /**
   * Returns true when the x86-64 instruction at that address locks memory or waits for the store
   * buffer: one with a lock prefix, an exchange with memory, or a fence.
   *
   * @param address one that the code {@link #contains}
   */
  boolean isAtomic(long address) {
    long at = address;
    int opcode = byteAt(at);
    while (isLegacyPrefix(opcode)) {
      if (opcode == LOCK) {
        return true;
      }
      opcode = byteAt(++at);
    }
    if ((opcode & 0xf0) == 0x40) {
      opcode = byteAt(++at);
    }
    if (opcode == 0x86 || opcode == 0x87) {
      boolean withRegister = byteAt(at + 1) >>> 6 == 3;
      return !withRegister;
    }
    boolean isFence = opcode == 0x0f && byteAt(at + 1) == 0xae && byteAt(at + 2) >= 0xe8;
    return isFence;
  }

  private static boolean isLegacyPrefix(int value) {
    return switch (value) {
      case LOCK, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x66, 0x67 -> true;
      default -> false;
    };
  }

  /** Returns true when the code has that address. */
  boolean contains(long address) {
    Map.Entry<Long, byte[]> range = ranges.floorEntry(address);
    return range != null && address - range.getKey() < range.getValue().length;
  }

  private int byteAt(long address) {
    Map.Entry<Long, byte[]> range = ranges.floorEntry(address);
    if (range == null) {
      throw new IllegalArgumentException("no code at 0x%x".formatted(address));
    }
    return range.getValue()[(int) (address - range.getKey())] & 0xff;
  }
}
