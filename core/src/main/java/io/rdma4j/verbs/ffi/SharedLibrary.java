package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import org.jspecify.annotations.Nullable;

/** A shared library, loaded for the life of the process, from which functions are linked. */
final class SharedLibrary {
  private final String name;
  private final SymbolLookup symbols;

  SharedLibrary(String name, SymbolLookup symbols) {
    this.name = name;
    this.symbols = symbols;
  }

  /**
   * Loads a library.
   *
   * @param name file name for the dynamic loader, or a path
   * @throws IllegalArgumentException when the loader does not find it
   */
  @SuppressWarnings("restricted")
  static SharedLibrary load(String name) {
    return new SharedLibrary(name, SymbolLookup.libraryLookup(name, Arena.global()));
  }

  /** Links a function that returns a pointer. */
  NativeFunction pointer(String symbol, MemoryLayout... parameters) {
    return required(symbol, FunctionDescriptor.of(ADDRESS, parameters));
  }

  /** Links a function that returns an int. */
  NativeFunction status(String symbol, MemoryLayout... parameters) {
    return required(symbol, FunctionDescriptor.of(JAVA_INT, parameters));
  }

  /** Links a function that returns 64 bits. */
  NativeFunction longValue(String symbol, MemoryLayout... parameters) {
    return required(symbol, FunctionDescriptor.of(JAVA_LONG, parameters));
  }

  /** Links a function without a result. */
  NativeFunction run(String symbol, MemoryLayout... parameters) {
    return required(symbol, FunctionDescriptor.ofVoid(parameters));
  }

  /** Links a function that older versions of the library do not have. */
  @Nullable NativeFunction optional(String symbol, FunctionDescriptor descriptor) {
    return symbols
        .find(symbol)
        .map(address -> new NativeFunction(symbol, address, descriptor))
        .orElse(null);
  }

  private NativeFunction required(String symbol, FunctionDescriptor descriptor) {
    NativeFunction function = optional(symbol, descriptor);
    if (function == null) {
      throw new IllegalArgumentException(name + " has no function " + symbol);
    }
    return function;
  }

  @Override
  public String toString() {
    return name;
  }
}
