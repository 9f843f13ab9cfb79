pair() { die 2 "not yet"; }
