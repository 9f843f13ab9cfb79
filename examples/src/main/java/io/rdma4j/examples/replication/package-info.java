/** A primary that ships its commit log to replicas. */
package io.rdma4j.examples.replication;
