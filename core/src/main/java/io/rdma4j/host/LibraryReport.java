package io.rdma4j.host;

import org.jspecify.annotations.Nullable;

/**
 * A user-space library that RDMA needs.
 *
 * @param name file name that the loader asks for, for example {@code libibverbs.so.1}
 * @param kind its role
 * @param found whether it is there; null when there is no library folder to look into
 * @param path where it is, null unless found
 * @param version version in the name of the file, null when the name has none
 */
public record LibraryReport(
    String name,
    Kind kind,
    @Nullable Boolean found,
    @Nullable String path,
    @Nullable String version) {

  /** Role of a library. */
  public enum Kind {
    /** One of the two libraries that programs link against. */
    CORE,
    /** Driver that libibverbs loads for one family of devices. */
    PROVIDER
  }
}
