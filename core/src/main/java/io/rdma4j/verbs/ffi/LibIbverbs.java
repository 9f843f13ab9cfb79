package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import org.jspecify.annotations.Nullable;

/**
 * The functions of libibverbs off the data path.
 *
 * <p>A uint8_t parameter is declared as an int: the callee reads the low byte, and a value above
 * 127 arrives zero-extended, as C callers pass it.
 */
final class LibIbverbs {
  final NativeFunction getDeviceList;
  final NativeFunction freeDeviceList;
  final NativeFunction getDeviceName;
  final NativeFunction getDeviceGuid;
  final NativeFunction openDevice;
  final NativeFunction closeDevice;
  final NativeFunction queryDevice;
  final NativeFunction queryPort;
  final NativeFunction queryGid;
  final NativeFunction getAsyncEvent;
  final NativeFunction ackAsyncEvent;
  final NativeFunction allocPd;
  final NativeFunction deallocPd;
  final NativeFunction regMr;
  final @Nullable NativeFunction regMrIova2;
  final NativeFunction deregMr;
  final NativeFunction createCompChannel;
  final NativeFunction destroyCompChannel;
  final NativeFunction createCq;
  final NativeFunction destroyCq;
  final NativeFunction getCqEvent;
  final NativeFunction ackCqEvents;
  final NativeFunction createSrq;
  final NativeFunction modifySrq;
  final NativeFunction destroySrq;
  final NativeFunction createQp;
  final NativeFunction modifyQp;
  final NativeFunction queryQp;
  final NativeFunction destroyQp;
  final NativeFunction forkInit;
  final @Nullable NativeFunction isForkInitialized;

  LibIbverbs(SharedLibrary lib) {
    getDeviceList = lib.pointer("ibv_get_device_list", ADDRESS);
    freeDeviceList = lib.run("ibv_free_device_list", ADDRESS);
    getDeviceName = lib.pointer("ibv_get_device_name", ADDRESS);
    getDeviceGuid = lib.longValue("ibv_get_device_guid", ADDRESS);
    openDevice = lib.pointer("ibv_open_device", ADDRESS);
    closeDevice = lib.status("ibv_close_device", ADDRESS);
    queryDevice = lib.status("ibv_query_device", ADDRESS, ADDRESS);
    queryPort = lib.status("ibv_query_port", ADDRESS, JAVA_INT, ADDRESS);
    queryGid = lib.status("ibv_query_gid", ADDRESS, JAVA_INT, JAVA_INT, ADDRESS);
    getAsyncEvent = lib.status("ibv_get_async_event", ADDRESS, ADDRESS);
    ackAsyncEvent = lib.run("ibv_ack_async_event", ADDRESS);
    allocPd = lib.pointer("ibv_alloc_pd", ADDRESS);
    deallocPd = lib.status("ibv_dealloc_pd", ADDRESS);
    regMr = lib.pointer("ibv_reg_mr", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT);
    regMrIova2 =
        lib.optional(
            "ibv_reg_mr_iova2",
            FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_INT));
    deregMr = lib.status("ibv_dereg_mr", ADDRESS);
    createCompChannel = lib.pointer("ibv_create_comp_channel", ADDRESS);
    destroyCompChannel = lib.status("ibv_destroy_comp_channel", ADDRESS);
    createCq = lib.pointer("ibv_create_cq", ADDRESS, JAVA_INT, ADDRESS, ADDRESS, JAVA_INT);
    destroyCq = lib.status("ibv_destroy_cq", ADDRESS);
    getCqEvent = lib.status("ibv_get_cq_event", ADDRESS, ADDRESS, ADDRESS);
    ackCqEvents = lib.run("ibv_ack_cq_events", ADDRESS, JAVA_INT);
    createSrq = lib.pointer("ibv_create_srq", ADDRESS, ADDRESS);
    modifySrq = lib.status("ibv_modify_srq", ADDRESS, ADDRESS, JAVA_INT);
    destroySrq = lib.status("ibv_destroy_srq", ADDRESS);
    createQp = lib.pointer("ibv_create_qp", ADDRESS, ADDRESS);
    modifyQp = lib.status("ibv_modify_qp", ADDRESS, ADDRESS, JAVA_INT);
    queryQp = lib.status("ibv_query_qp", ADDRESS, ADDRESS, JAVA_INT, ADDRESS);
    destroyQp = lib.status("ibv_destroy_qp", ADDRESS);
    forkInit = lib.status("ibv_fork_init");
    isForkInitialized = lib.optional("ibv_is_fork_initialized", FunctionDescriptor.of(JAVA_INT));
  }
}
