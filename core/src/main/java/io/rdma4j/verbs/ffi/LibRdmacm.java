package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

/** The functions of librdmacm. */
final class LibRdmacm {
  final NativeFunction getDevices;
  final NativeFunction freeDevices;
  final NativeFunction createEventChannel;
  final NativeFunction destroyEventChannel;
  final NativeFunction createId;
  final NativeFunction destroyId;
  final NativeFunction migrateId;
  final NativeFunction bindAddr;
  final NativeFunction listen;
  final NativeFunction resolveAddr;
  final NativeFunction resolveRoute;
  final NativeFunction createQp;
  final NativeFunction destroyQp;
  final NativeFunction connect;
  final NativeFunction accept;
  final NativeFunction reject;
  final NativeFunction disconnect;
  final NativeFunction getCmEvent;
  final NativeFunction ackCmEvent;

  LibRdmacm(SharedLibrary lib) {
    getDevices = lib.pointer("rdma_get_devices", ADDRESS);
    freeDevices = lib.run("rdma_free_devices", ADDRESS);
    createEventChannel = lib.pointer("rdma_create_event_channel");
    destroyEventChannel = lib.run("rdma_destroy_event_channel", ADDRESS);
    createId = lib.status("rdma_create_id", ADDRESS, ADDRESS, ADDRESS, JAVA_INT);
    destroyId = lib.status("rdma_destroy_id", ADDRESS);
    migrateId = lib.status("rdma_migrate_id", ADDRESS, ADDRESS);
    bindAddr = lib.status("rdma_bind_addr", ADDRESS, ADDRESS);
    listen = lib.status("rdma_listen", ADDRESS, JAVA_INT);
    resolveAddr = lib.status("rdma_resolve_addr", ADDRESS, ADDRESS, ADDRESS, JAVA_INT);
    resolveRoute = lib.status("rdma_resolve_route", ADDRESS, JAVA_INT);
    createQp = lib.status("rdma_create_qp", ADDRESS, ADDRESS, ADDRESS);
    destroyQp = lib.run("rdma_destroy_qp", ADDRESS);
    connect = lib.status("rdma_connect", ADDRESS, ADDRESS);
    accept = lib.status("rdma_accept", ADDRESS, ADDRESS);
    reject = lib.status("rdma_reject", ADDRESS, ADDRESS, JAVA_INT);
    disconnect = lib.status("rdma_disconnect", ADDRESS);
    getCmEvent = lib.status("rdma_get_cm_event", ADDRESS, ADDRESS);
    ackCmEvent = lib.status("rdma_ack_cm_event", ADDRESS);
  }
}
