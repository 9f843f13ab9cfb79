package io.rdma4j.diagnosis;

import io.rdma4j.host.CounterDelta;
import io.rdma4j.host.CounterSignal;
import io.rdma4j.status.Event;
import java.util.Locale;

/** Turns events and counters into facts. */
final class FactSources {
  /** Names of enum ibv_wc_status without their IBV_WC_ (ibv_poll_cq(3)), by number. */
  private static final String[] STATUSES = {
    "success",
    "loc_len_err",
    "loc_qp_op_err",
    "loc_eec_op_err",
    "loc_prot_err",
    "wr_flush_err",
    "mw_bind_err",
    "bad_resp_err",
    "loc_access_err",
    "rem_inv_req_err",
    "rem_access_err",
    "rem_op_err",
    "retry_exc_err",
    "rnr_retry_exc_err",
    "loc_rdd_viol_err",
    "rem_inv_rd_req_err",
    "rem_abort_err",
    "inv_eecn_err",
    "inv_eec_state_err",
    "fatal_err",
    "resp_timeout_err",
    "general_err",
  };

  private FactSources() {}

  /** Adds one event; of several completion errors the first one's vendor error counts. */
  static void add(Facts.Builder facts, Event event, boolean isFirstCompletionError) {
    facts.add("event." + lower(event.kind()), 1);
    switch (event.kind()) {
      case REGISTRATION_FAILED -> {
        if (event.value() > 0) {
          facts.set("config.refused_bytes", (double) event.value());
        }
      }
      case PEER_SILENT, PEER_HEARD -> facts.set("app.silence_ms", (double) event.value());
      case COMPLETION_ERROR -> {
        facts.add("completion." + status(event.code()), 1);
        if (isFirstCompletionError) {
          facts.set("vendor", event.vendorError());
        }
      }
      default -> {}
    }
  }

  private static String status(int number) {
    return number >= 0 && number < STATUSES.length ? STATUSES[number] : "status_" + number;
  }

  /**
   * Adds what a port counted; ports are added up, and a signal that no port shows stays unknown.
   */
  static void add(Facts.Builder facts, CounterDelta delta) {
    for (CounterSignal signal : CounterSignal.values()) {
      delta
          .increase(signal)
          .ifPresent(increase -> facts.add("counter." + lower(signal), (double) increase));
    }
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
