/**
 * The {@code journal} subcommand: what a journal file holds. {@link io.rdma4j.status.JournalReader}
 * reads it; this package chooses and prints.
 */
package io.rdma4j.tools.journal;
