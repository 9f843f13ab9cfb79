package io.rdma4j.provider.shm;

/** 128 bytes ahead of a subclass's fields, so that objects of two threads share no cache line. */
abstract class Padded {
  long p0;
  long p1;
  long p2;
  long p3;
  long p4;
  long p5;
  long p6;
  long p7;
  long p8;
  long p9;
  long p10;
  long p11;
  long p12;
  long p13;
  long p14;
  long p15;
}
