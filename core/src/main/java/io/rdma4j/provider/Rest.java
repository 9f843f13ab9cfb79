package io.rdma4j.provider;

/** What a polling thread may do that has found nothing; the answer of {@link Endpoint#arm}. */
public enum Rest {
  /** Poll again: something is there already. */
  NONE,

  /** Sleep for a moment: no event tells when there is something to do. */
  BRIEF,

  /** Sleep: an event comes when there is something to do. */
  UNTIL_EVENT
}
