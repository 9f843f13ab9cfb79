package io.rdma4j.bench;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * A file for results on the command line, refused before minutes are spent on what could not be
 * written there.
 */
public final class OutputFile implements ITypeConverter<Path> {
  @Override
  public Path convert(String value) {
    Path file = Path.of(value);
    if (Files.isDirectory(file)) {
      throw new TypeConversionException(value + " is a directory; name a file in it");
    }
    // Only the root has no parent, and that is a directory.
    Path folder = Objects.requireNonNull(file.toAbsolutePath().getParent());
    if (!Files.isDirectory(folder)) {
      throw new TypeConversionException("there is no directory " + folder + "; make it first");
    }
    if (!Files.isWritable(Files.exists(file) ? file : folder)) {
      throw new TypeConversionException(value + " can not be written: no permission");
    }
    return file;
  }
}
