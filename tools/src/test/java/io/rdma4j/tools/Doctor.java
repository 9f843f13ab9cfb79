package io.rdma4j.tools;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Runs {@code doctor} in this process and picks its JSON apart. */
final class Doctor {
  final int status;
  final String text;
  final String error;

  private Doctor(int status, String text, String error) {
    this.status = status;
    this.text = text;
    this.error = error;
  }

  static Doctor run(boolean colour, String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status = Main.run(new PrintWriter(out), new PrintWriter(err), colour, args);
    return new Doctor(status, out.toString(), err.toString());
  }

  static Doctor json(Path root) {
    return run(false, "doctor", "--json", "--root", root.toString());
  }

  static Doctor compare(Path root, Path then) {
    return run(false, "doctor", "--json", "--root", root.toString(), "--then", then.toString());
  }

  static Doctor text(Path root) {
    return run(false, "doctor", "--root", root.toString());
  }

  Map<String, Object> json() {
    try {
      return JSON.std.mapFrom(text);
    } catch (IOException e) {
      throw new AssertionError("not JSON: " + text, e);
    }
  }

  List<Map<String, Object>> devices() {
    return list(json(), "devices");
  }

  Map<String, Object> device(String name) {
    return devices().stream()
        .filter(device -> name.equals(device.get("name")))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no device " + name + " in " + text));
  }

  Map<String, Object> port(String device) {
    return list(device(device), "ports").getFirst();
  }

  List<Map<String, Object>> gids(String device) {
    return list(port(device), "gids");
  }

  List<Map<String, Object>> findings() {
    return list(json(), "findings");
  }

  List<Object> findingIds() {
    return findings().stream().map(finding -> finding.get("id")).toList();
  }

  Map<String, Object> finding(String id) {
    return findings().stream()
        .filter(finding -> id.equals(finding.get("id")))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no finding " + id + " in " + text));
  }

  /** What the given port counted between the two readings. */
  Map<String, Object> delta(String device) {
    return list(object("comparison"), "ports").stream()
        .filter(port -> device.equals(port.get("device")))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no comparison of " + device + " in " + text));
  }

  static Map<String, Object> map(Map<String, Object> object, String key) {
    return cast(object.get(key));
  }

  Map<String, Object> object(String key) {
    return cast(json().get(key));
  }

  static List<Map<String, Object>> list(Map<String, Object> object, String key) {
    return cast(object.get(key));
  }

  /** A value as text, with {@code null} for JSON's null. */
  static String text(Map<String, Object> object, String key) {
    return String.valueOf(object.get(key));
  }

  String nextStep(String findingId) {
    return text(finding(findingId), "nextStep");
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <T> T cast(@Nullable Object value) {
    if (value == null) {
      throw new AssertionError("the JSON lacks an object or a list");
    }
    return (T) value;
  }
}
