/** How long brokers that do not answer may hold up one step of the end of a process. */
export const farewellMsMax = 3_000;
