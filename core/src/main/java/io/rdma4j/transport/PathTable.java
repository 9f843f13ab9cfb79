package io.rdma4j.transport;

import io.rdma4j.Availability;
import io.rdma4j.provider.Provider;
import io.rdma4j.status.TableDescriptor;
import io.rdma4j.status.TableDescriptor.Column;
import io.rdma4j.status.TableDescriptor.Kind;
import io.rdma4j.status.TableSource;
import java.util.List;

/** The paths of a node, in its order, as a table. */
final class PathTable implements TableSource {
  private static final TableDescriptor TABLE =
      new TableDescriptor(
          "paths",
          "Paths of this node in the order of preference.",
          List.of(
              new Column("path", Kind.TEXT, "Name of the path."),
              new Column("usable", Kind.FLAG, "Whether it can be used here."),
              new Column("reason", Kind.TEXT, "Why, in words."),
              new Column("connections", Kind.WHOLE, "Open connections that use it.")));

  private final Node node;

  PathTable(Node node) {
    this.node = node;
  }

  @Override
  public TableDescriptor table() {
    return TABLE;
  }

  @Override
  public void collect(Rows rows) {
    for (Provider provider : node.providers()) {
      Availability availability = provider.availability();
      long open =
          node.connectionsNow().stream()
              .filter(c -> c.path().name().equals(provider.name()))
              .count();
      rows.add(provider.name(), availability.usable(), availability.reason(), open);
    }
  }

  @Override
  public String toString() {
    return "the paths of a node";
  }
}
