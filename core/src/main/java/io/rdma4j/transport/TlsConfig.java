package io.rdma4j.transport;

import javax.net.ssl.SSLContext;

/**
 * TLS 1.3 for the bootstrap connection and for messages on {@code tcp}. Both ends present a
 * certificate that the other one's context has to trust. Messages on {@code verbs} and {@code shm}
 * do not pass through it: there the certificates decide who may connect, and nothing is encrypted.
 *
 * <p>Immutable as far as the context is.
 *
 * @param context keys and trust of this node
 * @param peerNames what a connecting node asks of the other one's certificate beside trust
 */
public record TlsConfig(SSLContext context, PeerNames peerNames) {
  /** What a connecting node asks of the other one's certificate beside trust. */
  public enum PeerNames {
    /** It names the host connected to (RFC 9525). */
    VERIFY,
    /** Any that is trusted: for an authority that signs nothing but the nodes of one cluster. */
    ANY
  }

  /** Returns a configuration that verifies the peers' names. */
  public static TlsConfig of(SSLContext context) {
    return new TlsConfig(context, PeerNames.VERIFY);
  }
}
