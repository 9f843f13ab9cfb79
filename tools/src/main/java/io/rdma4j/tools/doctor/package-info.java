/**
 * The {@code doctor} subcommand: says whether RDMA can be used on a machine, why not, and what to
 * do. Facts come from {@link io.rdma4j.host.HostReport}; this package judges and prints them.
 */
package io.rdma4j.tools.doctor;
