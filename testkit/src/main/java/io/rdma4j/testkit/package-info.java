/** Meters and checks that tests of every module share. */
@NullMarked
package io.rdma4j.testkit;

import org.jspecify.annotations.NullMarked;
