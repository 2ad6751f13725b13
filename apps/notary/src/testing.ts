export { startWitness as openWitness } from './testing/witness.js';
export type { Witness } from './testing/witness.js';
