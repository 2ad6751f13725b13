// What specs import as `fast-check`: with a seed for the run, its properties draw the same values again.
import fc from '../node_modules/fast-check/lib/fast-check.js';

const { COUNTERSIGN_TEST_SEED: seed } = process.env;
if (seed) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });

export * from '../node_modules/fast-check/lib/fast-check.js';
export default fc;
