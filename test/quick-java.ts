/** For Java's short runs: the quick compiler and the simple collector cost half of the processor time. */
export const quickJava = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
