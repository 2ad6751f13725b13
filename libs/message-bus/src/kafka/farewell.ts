/** How long unresponsive brokers may delay one step of the shutdown. */
export const farewellMsMax = 3_000;
