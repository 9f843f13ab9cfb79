package io.rdma4j.verbs.ffi;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Sizes, offsets and constants of the C headers as this package uses them, for 64-bit Linux.
 *
 * <p>Each is entered under its C expression, so that a test can compile the same expressions
 * against the headers and compare.
 */
final class Layouts {
  private static final Map<String, Long> EXPRESSIONS = new LinkedHashMap<>();

  static final long DEVICE_TRANSPORT = at("struct ibv_device", "transport_type", 20);

  static final long CONTEXT_BYTES = size("struct ibv_context", 328);
  static final long CONTEXT_DEVICE = at("struct ibv_context", "device", 0);
  static final long CONTEXT_POLL_CQ = at("struct ibv_context", "ops.poll_cq", 96);
  static final long CONTEXT_REQ_NOTIFY_CQ = at("struct ibv_context", "ops.req_notify_cq", 104);
  static final long CONTEXT_POST_SRQ_RECV = at("struct ibv_context", "ops.post_srq_recv", 168);
  static final long CONTEXT_POST_SEND = at("struct ibv_context", "ops.post_send", 208);
  static final long CONTEXT_POST_RECV = at("struct ibv_context", "ops.post_recv", 216);
  static final long CONTEXT_ASYNC_FD = at("struct ibv_context", "async_fd", 268);
  static final long CONTEXT_ABI_COMPAT = at("struct ibv_context", "abi_compat", 320);

  /** struct verbs_context ends with the ibv_context and grows at its front. */
  static final int MODIFY_CQ_BEFORE_CONTEXT =
      constant(
          "offsetof(struct verbs_context, context) - offsetof(struct verbs_context, modify_cq)",
          184);

  static final int SIZE_BEFORE_CONTEXT =
      constant("offsetof(struct verbs_context, context) - offsetof(struct verbs_context, sz)", 8);

  static final long MODIFY_CQ_ATTR_BYTES = size("struct ibv_modify_cq_attr", 8);
  static final long MODIFY_CQ_ATTR_MASK = at("struct ibv_modify_cq_attr", "attr_mask", 0);
  static final long MODIFY_CQ_ATTR_COUNT = at("struct ibv_modify_cq_attr", "moderate.cq_count", 4);
  static final long MODIFY_CQ_ATTR_PERIOD =
      at("struct ibv_modify_cq_attr", "moderate.cq_period", 6);
  static final int IBV_CQ_ATTR_MODERATE = constant("IBV_CQ_ATTR_MODERATE", 1);
  static final long CONTEXT_NUM_COMP_VECTORS = at("struct ibv_context", "num_comp_vectors", 272);

  static final long DEVICE_ATTR_BYTES = size("struct ibv_device_attr", 232);
  static final long DEVICE_ATTR_FW_VER = at("struct ibv_device_attr", "fw_ver", 0);
  static final long DEVICE_ATTR_MAX_MR_SIZE = at("struct ibv_device_attr", "max_mr_size", 80);
  static final long DEVICE_ATTR_MAX_QP = at("struct ibv_device_attr", "max_qp", 108);
  static final long DEVICE_ATTR_MAX_QP_WR = at("struct ibv_device_attr", "max_qp_wr", 112);
  static final long DEVICE_ATTR_MAX_SGE = at("struct ibv_device_attr", "max_sge", 120);
  static final long DEVICE_ATTR_MAX_CQ = at("struct ibv_device_attr", "max_cq", 128);
  static final long DEVICE_ATTR_MAX_CQE = at("struct ibv_device_attr", "max_cqe", 132);
  static final long DEVICE_ATTR_MAX_MR = at("struct ibv_device_attr", "max_mr", 136);
  static final long DEVICE_ATTR_MAX_QP_RD_ATOM =
      at("struct ibv_device_attr", "max_qp_rd_atom", 144);
  static final long DEVICE_ATTR_MAX_QP_INIT_RD_ATOM =
      at("struct ibv_device_attr", "max_qp_init_rd_atom", 156);
  static final long DEVICE_ATTR_ATOMIC_CAP = at("struct ibv_device_attr", "atomic_cap", 164);
  static final long DEVICE_ATTR_MAX_SRQ = at("struct ibv_device_attr", "max_srq", 212);
  static final long DEVICE_ATTR_PHYS_PORT_CNT = at("struct ibv_device_attr", "phys_port_cnt", 227);

  static final long PORT_ATTR_BYTES = size("struct ibv_port_attr", 52);
  static final long PORT_ATTR_STATE = at("struct ibv_port_attr", "state", 0);
  static final long PORT_ATTR_ACTIVE_MTU = at("struct ibv_port_attr", "active_mtu", 8);
  static final long PORT_ATTR_GID_TBL_LEN = at("struct ibv_port_attr", "gid_tbl_len", 12);
  static final long PORT_ATTR_MAX_MSG_SZ = at("struct ibv_port_attr", "max_msg_sz", 20);
  static final long PORT_ATTR_LID = at("struct ibv_port_attr", "lid", 34);
  static final long PORT_ATTR_LINK_LAYER = at("struct ibv_port_attr", "link_layer", 46);

  static final long GID_BYTES = size("union ibv_gid", 16);

  static final long ASYNC_EVENT_BYTES = size("struct ibv_async_event", 16);
  static final long ASYNC_EVENT_ELEMENT = at("struct ibv_async_event", "element", 0);
  static final long ASYNC_EVENT_TYPE = at("struct ibv_async_event", "event_type", 8);

  static final long MR_LKEY = at("struct ibv_mr", "lkey", 36);
  static final long MR_RKEY = at("struct ibv_mr", "rkey", 40);
  static final long CQ_CQE = at("struct ibv_cq", "cqe", 28);
  static final long QP_NUM = at("struct ibv_qp", "qp_num", 52);
  static final long COMP_CHANNEL_FD = at("struct ibv_comp_channel", "fd", 8);

  static final long QP_INIT_ATTR_BYTES = size("struct ibv_qp_init_attr", 64);
  static final long QP_INIT_ATTR_SEND_CQ = at("struct ibv_qp_init_attr", "send_cq", 8);
  static final long QP_INIT_ATTR_RECV_CQ = at("struct ibv_qp_init_attr", "recv_cq", 16);
  static final long QP_INIT_ATTR_SRQ = at("struct ibv_qp_init_attr", "srq", 24);
  static final long QP_INIT_ATTR_MAX_SEND_WR = at("struct ibv_qp_init_attr", "cap.max_send_wr", 32);
  static final long QP_INIT_ATTR_MAX_RECV_WR = at("struct ibv_qp_init_attr", "cap.max_recv_wr", 36);
  static final long QP_INIT_ATTR_MAX_SEND_SGE =
      at("struct ibv_qp_init_attr", "cap.max_send_sge", 40);
  static final long QP_INIT_ATTR_MAX_RECV_SGE =
      at("struct ibv_qp_init_attr", "cap.max_recv_sge", 44);
  static final long QP_INIT_ATTR_MAX_INLINE_DATA =
      at("struct ibv_qp_init_attr", "cap.max_inline_data", 48);
  static final long QP_INIT_ATTR_QP_TYPE = at("struct ibv_qp_init_attr", "qp_type", 52);
  static final long QP_INIT_ATTR_SQ_SIG_ALL = at("struct ibv_qp_init_attr", "sq_sig_all", 56);

  static final long SRQ_INIT_ATTR_BYTES = size("struct ibv_srq_init_attr", 24);
  static final long SRQ_INIT_ATTR_MAX_WR = at("struct ibv_srq_init_attr", "attr.max_wr", 8);
  static final long SRQ_INIT_ATTR_MAX_SGE = at("struct ibv_srq_init_attr", "attr.max_sge", 12);

  static final long SRQ_ATTR_BYTES = size("struct ibv_srq_attr", 12);
  static final long SRQ_ATTR_LIMIT = at("struct ibv_srq_attr", "srq_limit", 8);

  static final long QP_ATTR_BYTES = size("struct ibv_qp_attr", 144);
  static final long QP_ATTR_QP_STATE = at("struct ibv_qp_attr", "qp_state", 0);
  static final long QP_ATTR_PATH_MTU = at("struct ibv_qp_attr", "path_mtu", 8);
  static final long QP_ATTR_RQ_PSN = at("struct ibv_qp_attr", "rq_psn", 20);
  static final long QP_ATTR_SQ_PSN = at("struct ibv_qp_attr", "sq_psn", 24);
  static final long QP_ATTR_DEST_QP_NUM = at("struct ibv_qp_attr", "dest_qp_num", 28);
  static final long QP_ATTR_QP_ACCESS_FLAGS = at("struct ibv_qp_attr", "qp_access_flags", 32);
  static final long QP_ATTR_AH_DGID = at("struct ibv_qp_attr", "ah_attr.grh.dgid", 56);
  static final long QP_ATTR_AH_SGID_INDEX = at("struct ibv_qp_attr", "ah_attr.grh.sgid_index", 76);
  static final long QP_ATTR_AH_HOP_LIMIT = at("struct ibv_qp_attr", "ah_attr.grh.hop_limit", 77);
  static final long QP_ATTR_AH_DLID = at("struct ibv_qp_attr", "ah_attr.dlid", 80);
  static final long QP_ATTR_AH_IS_GLOBAL = at("struct ibv_qp_attr", "ah_attr.is_global", 85);
  static final long QP_ATTR_AH_PORT_NUM = at("struct ibv_qp_attr", "ah_attr.port_num", 86);
  static final long QP_ATTR_PKEY_INDEX = at("struct ibv_qp_attr", "pkey_index", 120);
  static final long QP_ATTR_MAX_RD_ATOMIC = at("struct ibv_qp_attr", "max_rd_atomic", 126);
  static final long QP_ATTR_MAX_DEST_RD_ATOMIC =
      at("struct ibv_qp_attr", "max_dest_rd_atomic", 127);
  static final long QP_ATTR_MIN_RNR_TIMER = at("struct ibv_qp_attr", "min_rnr_timer", 128);
  static final long QP_ATTR_PORT_NUM = at("struct ibv_qp_attr", "port_num", 129);
  static final long QP_ATTR_TIMEOUT = at("struct ibv_qp_attr", "timeout", 130);
  static final long QP_ATTR_RETRY_CNT = at("struct ibv_qp_attr", "retry_cnt", 131);
  static final long QP_ATTR_RNR_RETRY = at("struct ibv_qp_attr", "rnr_retry", 132);

  static final int IBV_QPT_RC = constant("IBV_QPT_RC", 2);
  static final int IBV_QPS_INIT = constant("IBV_QPS_INIT", 1);
  static final int IBV_QPS_RTR = constant("IBV_QPS_RTR", 2);
  static final int IBV_QPS_RTS = constant("IBV_QPS_RTS", 3);
  static final int IBV_QPS_ERR = constant("IBV_QPS_ERR", 6);
  static final int IBV_QP_STATE = constant("IBV_QP_STATE", 1);
  static final int TO_INIT_MASK =
      constant("IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS", 0x39);
  static final int TO_RTR_MASK =
      constant(
          "IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN"
              + " | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER",
          0x129181);
  static final int TO_RTS_MASK =
      constant(
          "IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN"
              + " | IBV_QP_MAX_QP_RD_ATOMIC",
          0x12e01);
  static final int PATH_MASK =
      constant(
          "IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC",
          0x22180);
  static final int IBV_TRANSPORT_IB = constant("IBV_TRANSPORT_IB", 0);
  static final int IBV_TRANSPORT_IWARP = constant("IBV_TRANSPORT_IWARP", 1);
  static final int IBV_FORK_UNNEEDED = constant("IBV_FORK_UNNEEDED", 2);
  static final int IBV_MTU_256 = constant("IBV_MTU_256", 1);
  static final int IBV_MTU_4096 = constant("IBV_MTU_4096", 5);

  static final long EVENT_CHANNEL_FD = at("struct rdma_event_channel", "fd", 0);

  static final long CM_ID_BYTES = size("struct rdma_cm_id", 416);
  static final long CM_ID_VERBS = at("struct rdma_cm_id", "verbs", 0);
  static final long CM_ID_QP = at("struct rdma_cm_id", "qp", 24);
  static final long CM_ID_SRC_ADDR = at("struct rdma_cm_id", "route.addr.src_addr", 32);
  static final long CM_ID_PORT_NUM = at("struct rdma_cm_id", "port_num", 348);

  static final long CONN_PARAM_BYTES = size("struct rdma_conn_param", 24);
  static final long CONN_PARAM_PRIVATE_DATA = at("struct rdma_conn_param", "private_data", 0);
  static final long CONN_PARAM_PRIVATE_DATA_LEN =
      at("struct rdma_conn_param", "private_data_len", 8);
  static final long CONN_PARAM_RESPONDER_RESOURCES =
      at("struct rdma_conn_param", "responder_resources", 9);
  static final long CONN_PARAM_INITIATOR_DEPTH =
      at("struct rdma_conn_param", "initiator_depth", 10);
  static final long CONN_PARAM_RETRY_COUNT = at("struct rdma_conn_param", "retry_count", 12);
  static final long CONN_PARAM_RNR_RETRY_COUNT =
      at("struct rdma_conn_param", "rnr_retry_count", 13);

  static final long CM_EVENT_BYTES = size("struct rdma_cm_event", 80);
  static final long CM_EVENT_ID = at("struct rdma_cm_event", "id", 0);
  static final long CM_EVENT_TYPE = at("struct rdma_cm_event", "event", 16);
  static final long CM_EVENT_STATUS = at("struct rdma_cm_event", "status", 20);
  static final long CM_EVENT_CONN_PARAM = at("struct rdma_cm_event", "param.conn", 24);

  static final int RDMA_PS_TCP = constant("RDMA_PS_TCP", 0x106);

  static final long SOCKADDR_BYTES = size("struct sockaddr_storage", 128);
  static final long SOCKADDR_FAMILY = at("struct sockaddr_in", "sin_family", 0);
  static final long SOCKADDR_PORT = at("struct sockaddr_in", "sin_port", 2);
  static final long SOCKADDR_IN_ADDR = at("struct sockaddr_in", "sin_addr", 4);
  static final long SOCKADDR_IN6_ADDR = at("struct sockaddr_in6", "sin6_addr", 8);
  static final long SOCKADDR_IN6_SCOPE_ID = at("struct sockaddr_in6", "sin6_scope_id", 24);
  static final int AF_INET = constant("AF_INET", 2);
  static final int AF_INET6 = constant("AF_INET6", 10);

  static final long POLLFD_BYTES = size("struct pollfd", 8);
  static final long POLLFD_FD = at("struct pollfd", "fd", 0);
  static final long POLLFD_EVENTS = at("struct pollfd", "events", 4);
  static final int POLLIN = constant("POLLIN", 1);
  static final long TIMESPEC_BYTES = size("struct timespec", 16);
  static final int F_GETFL = constant("F_GETFL", 3);
  static final int F_SETFL = constant("F_SETFL", 4);
  static final int O_NONBLOCK = constant("O_NONBLOCK", 0x800);

  private Layouts() {}

  /** Returns C expression and value of everything above, in this order. */
  static Map<String, Long> expressions() {
    return Collections.unmodifiableMap(EXPRESSIONS);
  }

  private static long size(String type, long bytes) {
    EXPRESSIONS.put("sizeof(" + type + ")", bytes);
    return bytes;
  }

  private static long at(String type, String field, long offset) {
    EXPRESSIONS.put("offsetof(" + type + ", " + field + ")", offset);
    return offset;
  }

  private static int constant(String expression, int value) {
    EXPRESSIONS.put(expression, (long) value);
    return value;
  }
}
