package io.rdma4j.transport.internal;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * What an end shows to prove that it knows the shared secret: a code over both hellos as they went
 * over the wire.
 *
 * <pre>
 *  HMAC-SHA-256(secret, purpose || 0 || length(4) || initiator's hello || acceptor's hello || binding)
 * </pre>
 *
 * Each hello has a nonce of its sender, so an old proof never fits. The purpose differs for the two
 * ends, so a proof can not be sent back to its maker. Every bit of versions, capabilities, sizes
 * and offers is covered, so nobody in between can talk the two down to less. The binding is what
 * only the two ends of an encrypted connection know, empty without one.
 */
public final class SecretProof {
  /** Bytes of a proof. */
  public static final int BYTES = 32;

  private static final String ALGORITHM = "HmacSHA256";

  private final byte[] transcript;

  /** Covers the hellos as sent, and the binding of the connection below. */
  public SecretProof(byte[] initiatorHello, byte[] acceptorHello, byte[] binding) {
    transcript =
        ByteBuffer.allocate(
                Integer.BYTES + initiatorHello.length + acceptorHello.length + binding.length)
            .putInt(initiatorHello.length)
            .put(initiatorHello)
            .put(acceptorHello)
            .put(binding)
            .array();
  }

  /** Returns what the initiator shows. */
  public byte[] ofInitiator(byte[] secret) {
    return code(secret, "rdma4j initiator");
  }

  /** Returns what the acceptor shows. */
  public byte[] ofAcceptor(byte[] secret) {
    return code(secret, "rdma4j acceptor");
  }

  /**
   * Returns the token of the paths: it has never been on the wire, so that only who has proved the
   * secret can claim the place that was prepared for it at a device.
   */
  public byte[] pathToken(byte[] secret) {
    return Arrays.copyOf(code(secret, "rdma4j path"), Hello.ID_BYTES);
  }

  /** Compares in a time that does not depend on where the two differ. */
  public static boolean matches(byte[] expected, byte[] shown) {
    return MessageDigest.isEqual(expected, shown);
  }

  private byte[] code(byte[] secret, String purpose) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(secret, ALGORITHM));
      mac.update(purpose.getBytes(StandardCharsets.US_ASCII));
      mac.update((byte) 0);
      return mac.doFinal(transcript);
    } catch (GeneralSecurityException e) {
      // Every Java platform has to have HmacSHA256; without it nobody may pass.
      throw new IllegalStateException("this Java runtime has no " + ALGORITHM, e);
    }
  }
}
