/**
 * What a machine offers for RDMA: devices, ports, GIDs, limits, libraries, huge pages.
 *
 * <p>{@link io.rdma4j.host.HostReport#read} reads the facts from sysfs, procfs and the library
 * folders, of the running machine or of a tree copied from another. It changes nothing and judges
 * nothing. A fact that is not there to be read is null, which means unknown and never "no".
 */
package io.rdma4j.host;
