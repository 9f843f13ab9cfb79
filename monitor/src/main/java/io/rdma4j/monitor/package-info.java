/**
 * What operators see of a process that uses the library: pages for {@code curl}, for Prometheus and
 * for a browser.
 *
 * <p>{@link io.rdma4j.monitor.Monitor} serves them over HTTP. It reads {@link
 * io.rdma4j.status.StatusRegistry} and nothing else of the library, on threads of its own, so it
 * can neither slow the data path down nor stop it.
 *
 * <pre>
 *  StatusRegistry --snapshot, once a second--&gt; Sampler --&gt; History, Health
 *        |                                        \--&gt; LiveFeed --&gt; /stream
 *        \--on request--&gt; /vars /metrics /connections /pool ...
 * </pre>
 */
@NullMarked
package io.rdma4j.monitor;

import org.jspecify.annotations.NullMarked;
