/**
 * The vocabulary in which every part of the library states its metrics.
 *
 * <p>A part is a {@link io.rdma4j.status.MetricSource}: it states its {@link
 * io.rdma4j.status.MetricDescriptor}s once, registers with a {@link
 * io.rdma4j.status.StatusRegistry}, and hands over {@link io.rdma4j.status.Metric}s when asked. A
 * reader takes a {@link io.rdma4j.status.StatusSnapshot} and writes it down: {@link
 * io.rdma4j.status.VarsText}, {@link io.rdma4j.status.JsonText}, or an exporter elsewhere. Nothing
 * here runs on a data path: parts count in words of their own, and a source reads those.
 *
 * <p>Conventions, after those of Prometheus and OpenMetrics:
 *
 * <ul>
 *   <li>A name is {@code rdma4j_}, the part, the thing counted, the unit: {@code
 *       rdma4j_mr_register_seconds}. Units are seconds, bytes and ratio (0 to 1); a name without
 *       one counts things. A counter ends in {@code _total}.
 *   <li>A counter only grows. Its rate, and a ratio of two counters, are for the reader to derive;
 *       a ready ratio may stand beside them.
 *   <li>The parts add up: the sum over the labels of a metric is the whole, and each event is
 *       counted under one combination of label values.
 *   <li>Label values are few and known: {@code device, port, size_class, node, transport,
 *       direction, status, peer}, the last one a configured name. Queue pair numbers and addresses
 *       are no labels.
 *   <li>What can not be read is left out: neither 0 nor -1 means unknown.
 *   <li>An alias is an older public name of a metric. It is valid in {@link
 *       io.rdma4j.status.VarsText}, with the same value and labels.
 * </ul>
 */
@NullMarked
package io.rdma4j.status;

import org.jspecify.annotations.NullMarked;
