package io.rdma4j.host;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * What counters mean, whatever a driver calls them.
 *
 * <p>Drivers of mlx5, rxe, irdma and bnxt_re name one thing differently, and several counters may
 * show one event: those of one folder are added, of several folders the largest counts. Names and
 * meanings are those of the kernel's drivers (mlx5:
 * Documentation/networking/device_drivers/ethernet /mellanox/mlx5/counters.rst; rxe:
 * rxe_hw_counters.c).
 *
 * <p>Errors show on the side that sends the request. "Here" is the port the counter belongs to.
 */
public enum CounterSignal {
  /** Bytes sent; port counters count words of four bytes. */
  SENT_BYTES(
      "counters/port_xmit_data",
      "hw_counters/ip4OutOctets",
      "hw_counters/ip6OutOctets",
      "hw_counters/tx_bytes"),
  /** Bytes received. */
  RECEIVED_BYTES(
      "counters/port_rcv_data",
      "hw_counters/ip4InOctets",
      "hw_counters/ip6InOctets",
      "hw_counters/rx_bytes"),
  /** Packets sent. */
  SENT_PACKETS(
      "counters/port_xmit_packets",
      "hw_counters/sent_pkts",
      "hw_counters/tx_pkts",
      "hw_counters/ip4OutPkts",
      "hw_counters/ip6OutPkts"),
  /** Packets received. */
  RECEIVED_PACKETS(
      "counters/port_rcv_packets",
      "hw_counters/rcvd_pkts",
      "hw_counters/rx_pkts",
      "hw_counters/ip4InPkts",
      "hw_counters/ip6InPkts"),

  /** Requests arrived here out of sequence: one before them was lost or overtaken. */
  OUT_OF_SEQUENCE(
      "hw_counters/out_of_sequence",
      "hw_counters/out_of_seq_request",
      "hw_counters/oos_drop_count"),
  /** The peer told this port that it had missed a packet, or its answer showed that. */
  SEQUENCE_NAK(
      "hw_counters/packet_seq_err",
      "hw_counters/implied_nak_seq_err",
      "hw_counters/rcvd_seq_err",
      "hw_counters/seq_err_naks_rcvd"),
  /** Nothing came back in time. */
  ACK_TIMEOUT("hw_counters/local_ack_timeout_err", "hw_counters/to_retransmits"),
  /** Sent again, for whatever reason. */
  RETRANSMITTED(
      "hw_counters/roce_adp_retrans",
      "hw_counters/completer_retry_err",
      "hw_counters/tcpRetransSegs",
      "hw_counters/retrans_pkts"),
  /** A queue pair gave up after its last retry: the peer or the path is gone. */
  RETRIES_EXCEEDED(
      "hw_counters/req_transport_retries_exceeded",
      "hw_counters/retry_exceeded_err",
      "hw_counters/max_retry_exceeded"),
  /** A request arrived here twice: its answer was late or lost. */
  DUPLICATE_REQUEST("hw_counters/duplicate_request", "hw_counters/dup_req"),

  /** A message arrived here and no receive was posted for it. */
  NO_RECEIVE_POSTED("hw_counters/out_of_buffer", "hw_counters/send_rnr_err"),
  /** The peer said that it had no receive posted. */
  RNR_NAK("hw_counters/rnr_nak_retry_err", "hw_counters/rcvd_rnr_err", "hw_counters/rnr_naks_rcvd"),
  /** A queue pair gave up waiting for the peer's receives. */
  RNR_RETRIES_EXCEEDED(
      "hw_counters/req_rnr_retries_exceeded", "hw_counters/retry_rnr_exceeded_err"),

  /** A request named memory that the answering side refuses. */
  ACCESS_REFUSED(
      "hw_counters/req_remote_access_errors",
      "hw_counters/resp_remote_access_errors",
      "hw_counters/req_remote_invalid_request",
      "hw_counters/remote_access_err",
      "hw_counters/remote_invalid_req_err"),

  /** Packets arrived here with a mark of congestion (ECN). */
  ECN_MARKED(
      "hw_counters/np_ecn_marked_roce_packets",
      "hw_counters/RxECNMrkd",
      "hw_counters/rx_ecn_marked_pkts"),
  /** This port told senders to slow down (congestion notification packets). */
  CNP_SENT("hw_counters/np_cnp_sent", "hw_counters/cnpSent", "hw_counters/tx_cnp_pkts"),
  /** This port was told to slow down, and did. */
  CNP_HANDLED("hw_counters/rp_cnp_handled", "hw_counters/cnpHandled", "hw_counters/rx_cnp_pkts"),
  /** This port was told to slow down, and did not. */
  CNP_IGNORED("hw_counters/rp_cnp_ignored", "hw_counters/cnpIgnored"),
  /** The network told this port to pause (802.3x or priority flow control). */
  PAUSE_RECEIVED(
      priorities("ethtool/rx_prio%d_pause", "ethtool/rx_priority_%d_xoff.nic"),
      "ethtool/rx_pfc_frames",
      "ethtool/rx_pause_ctrl_phy"),
  /** This port told the network to pause: its host takes data too slowly. */
  PAUSE_SENT(
      priorities("ethtool/tx_prio%d_pause", "ethtool/tx_priority_%d_xoff.nic"),
      "ethtool/tx_pfc_frames",
      "ethtool/tx_pause_ctrl_phy"),
  /** This port paused the network for so long that the card warns, or stops pausing. */
  PAUSE_STORM("ethtool/tx_pause_storm_warning_events", "ethtool/tx_pause_storm_error_events"),

  /** Packets dropped on arrival here for lack of buffers. */
  RECEIVE_DISCARDS("ethtool/rx_discards_phy"),
  /** Packets dropped here instead of being sent. */
  SEND_DISCARDS("counters/port_xmit_discards", "ethtool/tx_discards_phy"),
  /** Packets dropped since their checksum was wrong. */
  CORRUPTED("hw_counters/rx_icrc_encapsulated", "ethtool/rx_crc_errors_phy", "net/rx_crc_errors"),
  /** The link went down. */
  LINK_DOWN(
      "counters/link_downed",
      "hw_counters/link_downed",
      "ethtool/link_down_events_phy",
      "net/carrier_down_count"),
  /** The link had errors that it could not correct. */
  LINK_ERRORS(
      "counters/symbol_error",
      "counters/link_error_recovery",
      "counters/local_link_integrity_errors",
      "counters/port_rcv_errors",
      "ethtool/rx_pcs_symbol_err_phy"),
  /** Ticks for which data was ready and the link took none (InfiniBand: no credits). */
  SEND_WAIT_TICKS("counters/port_xmit_wait"),
  /** The card waited for the host's PCI Express. */
  PCI_STALLS(
      "ethtool/outbound_pci_stalled_rd_events",
      "ethtool/outbound_pci_stalled_wr_events",
      "ethtool/outbound_pci_buffer_overflow");

  private static final int PRIORITIES = 8;

  /** Bytes that a step of the port's data counters stands for. */
  private static final int DATA_WORD_BYTES = 4;

  private static final Set<String> WORD_COUNTERS =
      Set.of("counters/port_xmit_data", "counters/port_rcv_data");

  private static final Set<String> KNOWN =
      Arrays.stream(values()).flatMap(s -> s.counters.stream()).collect(Collectors.toSet());

  @SuppressWarnings("ImmutableEnumChecker") // an unmodifiable list of strings
  private final List<String> counters;

  CounterSignal(String... counters) {
    this.counters = List.of(counters);
  }

  CounterSignal(List<String> perPriority, String... counters) {
    this.counters = Stream.concat(perPriority.stream(), Arrays.stream(counters)).toList();
  }

  /** Returns the names of the counters that show this signal, those of all drivers. */
  public List<String> counters() {
    return counters;
  }

  /** Whether any signal uses the counter. */
  static boolean uses(String counter) {
    return KNOWN.contains(counter);
  }

  OptionalLong of(CounterDelta delta) {
    Map<String, Long> sumByFolder = new LinkedHashMap<>();
    for (String counter : counters) {
      OptionalLong increase = delta.increase(counter);
      if (increase.isPresent()) {
        long unit = WORD_COUNTERS.contains(counter) ? DATA_WORD_BYTES : 1;
        String folder = counter.substring(0, counter.indexOf('/'));
        sumByFolder.merge(folder, increase.getAsLong() * unit, Long::sum);
      }
    }
    return sumByFolder.values().stream().mapToLong(Long::longValue).max();
  }

  /** Returns the counters of this signal that have increased, as {@code name +increase}. */
  public List<String> evidence(CounterDelta delta) {
    List<String> rows = new ArrayList<>();
    for (String counter : counters) {
      long increase = delta.increase(counter).orElse(0);
      if (increase > 0) {
        rows.add(counter + " +" + increase);
      }
    }
    return rows;
  }

  private static List<String> priorities(String... patterns) {
    return Arrays.stream(patterns)
        .flatMap(pattern -> IntStream.range(0, PRIORITIES).mapToObj(pattern::formatted))
        .toList();
  }
}
