package io.rdma4j.provider.verbs;

/**
 * A port of this machine that a connection can use.
 *
 * @param device kernel name
 * @param port counted from 1
 */
record LocalPort(String device, int port, PortFacts facts) {
  @Override
  public String toString() {
    return device + " port " + port;
  }
}
