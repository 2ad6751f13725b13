export { honestTexts, hostileTexts } from './testing/hostile-texts.js';
export type { HostileText } from './testing/hostile-texts.js';
