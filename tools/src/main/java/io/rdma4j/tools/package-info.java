/** Entry point of the {@code rdma4j} command line; each subcommand has a package of its own. */
package io.rdma4j.tools;
