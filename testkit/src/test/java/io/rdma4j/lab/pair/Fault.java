package io.rdma4j.lab.pair;

/** What happens to the two guests while the sender sends. */
enum Fault {
  /** RoCE packets to the sender's guest are dropped there; TCP goes through. */
  ROCE_DROPPED("RoCE dropped, TCP not", 8) {
    @Override
    void begin(Traffic traffic) {
      Guest.dropUdp(true);
    }

    @Override
    void end(Traffic traffic) {
      Guest.dropUdp(false);
    }
  },
  /** Both interfaces lose their carrier in both guests. */
  LINK_CUT("link cut", 3) {
    @Override
    void begin(Traffic traffic) {
      askLab("cut-link");
    }

    @Override
    void end(Traffic traffic) {
      askLab("restore-link");
    }
  },
  /** The receiver's process is stopped by a signal. */
  RECEIVER_STOPPED("receiver stopped", 10) {
    @Override
    void begin(Traffic traffic) {
      traffic.order(Order.STAND_STILL);
    }

    @Override
    void end(Traffic traffic) {}
  },
  /** Packets are lost in both directions. */
  LOSS("1 % of packets lost", 8) {
    @Override
    void begin(Traffic traffic) {
      traffic.order(Order.LOSE);
      lose();
    }

    @Override
    void end(Traffic traffic) {
      Guest.noNetem();
      traffic.order(Order.PASS);
    }
  },
  /** Packets are reordered in both directions. */
  REORDERING("25 % of packets reordered", 8) {
    @Override
    void begin(Traffic traffic) {
      traffic.order(Order.REORDER);
      reorder();
    }

    @Override
    void end(Traffic traffic) {
      Guest.noNetem();
      traffic.order(Order.PASS);
    }
  },
  /** The receiver's guest dies as in a power failure, and boots again. */
  GUEST_RESTARTED("guest killed, booted again", 0) {
    @Override
    void begin(Traffic traffic) {
      askLab("restart-peer");
    }

    @Override
    void end(Traffic traffic) {}
  };

  private final String words;
  private final int seconds;

  Fault(String words, int seconds) {
    this.words = words;
    this.seconds = seconds;
  }

  String words() {
    return words;
  }

  /** Returns how long it lasts; 0 when it ends by itself. */
  int seconds() {
    return seconds;
  }

  abstract void begin(Traffic traffic);

  abstract void end(Traffic traffic);

  static void lose() {
    Guest.netem("loss", "1%");
  }

  /** What is not delayed overtakes what is. */
  static void reorder() {
    Guest.netem("delay", "4ms", "reorder", "25%", "50%");
  }

  private static void askLab(String request) {
    System.out.println("@@lab " + request);
  }
}
