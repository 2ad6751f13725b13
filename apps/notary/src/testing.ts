export { startWitness } from './testing/witness.js';
export type { Witness } from './testing/witness.js';
